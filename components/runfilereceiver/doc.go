//go:generate go tool -modfile ../../internal/tools/go.mod mdatagen metadata.yaml

// Package runfilereceiver contains the run_file receiver: it reads the lines of trace files while
// they are written and hands their spans to a backend at the backend's own pace.
//
// Finding and reading files, and the places, are in internal/tracefile. Here a batch of lines is
// decoded (decode.go), filtered (match.go) and handed over until the backend has taken or refused
// every span of it (deliver.go, halve.go); the backend's outages are one gate for all batches that
// are on their way (gate.go).
package runfilereceiver
