// Package doctor tests `runspan doctor` on the real collector, a real Jaeger and real faults: every
// finding of the table in docs/commands.md is provoked here.
package doctor
