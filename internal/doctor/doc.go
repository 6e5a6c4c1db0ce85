// Package doctor follows one test span from this process to every place where it should arrive (the
// collector's endpoint, the trace file, the viewer, Jaeger), and says in plain words what is wrong on
// the way and what to change.
package doctor
