//go:generate go tool -modfile ../../internal/tools/go.mod mdatagen metadata.yaml

// Package runfileexporter contains the run_file exporter: it appends each request as a line of
// OTLP/JSON to one file that readers can follow while it is being written. A client gets its OK
// when the line is in the file, or on the disk.
//
// What happens to the file is internal/tracefile's; this package is its settings, its errors and
// its metrics.
package runfileexporter
