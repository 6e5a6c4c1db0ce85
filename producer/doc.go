// Package producer sends the spans of a Go program to a collector, as one process of a run.
//
// One call decides where the spans go, and Runtime.Mode says which it was:
//
//   - off: not enabled, or no endpoint is known and LocalCollector is not set. Nothing is installed.
//   - external: an endpoint is in the settings, or else in OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or
//     OTEL_EXPORTER_OTLP_ENDPOINT. That collector is somebody else's: it is never started or stopped.
//   - local: no endpoint is known and LocalCollector is set. A collector is started as a child of this
//     process; it writes <output_dir>/<run_id>/traces/traces.jsonl and ends with Shutdown.
//
// Start always returns a Runtime that can be used. Where it returns an error too, the mode is off:
// a program that logs the error and goes on works as before, untraced.
//
//	rt, err := producer.Start(ctx, producer.Config{Enabled: true, ServiceName: "trainer", LocalCollector: true})
//	if err != nil {
//		log.Print(err)
//	}
//	defer rt.Shutdown(context.WithoutCancel(ctx))
//
// Child processes get Runtime.Env and call FromEnv, or are in any other language: Env is the standard
// OTEL_* variables. A trace crosses from one process to another in any message by Inject and Extract.
//
// # Bounded times
//
// Start takes at most 15 s for a local collector, 5 s more for a viewer, 1 s more for the host's own
// name, and no time for an external one: it is not asked whether it is there. Ending a span never
// waits. An export takes at most 10 s, in the background; spans that find the queue of 2048 full are
// dropped. Shutdown takes at most 5 s for the flush, 10 s for the local collector and 2 s for the
// viewer, or less where its context ends before. Nothing that goes wrong behind Start returns an
// error to the code that makes spans: it is logged, once until it is well again.
package producer
