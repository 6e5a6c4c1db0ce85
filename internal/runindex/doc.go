// Package runindex knows the runs in trace files: a catalogue of all of them, which reads each byte
// once and keeps itself up to date, and the runs that are opened in memory.
package runindex
