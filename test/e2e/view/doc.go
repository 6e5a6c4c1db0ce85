// Package view tests the viewer as people have it: bin/runspan view on files that are not there yet, grow,
// are torn, cut and replaced, and the collector with its run_viewer extension.
package view
