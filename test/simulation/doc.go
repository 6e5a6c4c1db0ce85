// Package simulation makes training runs that never happened: their spans, in XTuner's shape, as the
// processes of a run would send them.
//
// A run is made from a seed. The same settings give the same run: spans, ids, texts, and times that
// depend on its start only. It has a driver, trainer ranks, a rollout controller, rollout workers, an
// agent that calls tools, a judger, and an engine beside each worker that knows no run id and takes part
// in the traces by their context only. Things go wrong as they do in life: stragglers and aborted
// rollouts that are tried again, timeouts, a worker that is killed with spans that it had not sent, a
// clock that is off, a client that sends spans twice.
//
// The run knows the truth about what it sends, for tests that ask a reader for it.
package simulation
