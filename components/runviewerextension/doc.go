//go:generate go tool -modfile ../../internal/tools/go.mod mdatagen metadata.yaml

// Package runviewerextension contains the run_viewer extension: it shows the runs of trace files in a
// browser and answers for them in JSON (docs/api.md). All it knows is in the files.
package runviewerextension
