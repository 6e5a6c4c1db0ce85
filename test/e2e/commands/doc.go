// Package commands tests bin/runspan on files that the real collector wrote, with what it prints as
// golden texts in testdata: `go test ./test/e2e/commands -update` writes them anew.
package commands
