//go:generate go tool -modfile ../internal/tools/go.mod mdatagen metadata.yaml

// Package runidprocessor contains the run_id processor: behind it every resource holds the spans
// of exactly one run, and every span carries `service.name` and `run.id`.
//
// Which run a span belongs to is decided by a pure function (resolve.go); splitting resources and
// writing the attributes is apart from it (processor.go).
package runidprocessor
