// Package harness starts the real parts that the end-to-end tests are made of (our collector, a
// Jaeger, producers in Python and JavaScript) and reads back what they left behind.
//
// Every process listens on loopback only, ends with its test, and is ended by process id. A part
// that is missing skips the test and says so; with RUNSPAN_E2E=full or CI=true it fails it.
package harness
