// Package procstat asks the operating system what a process has cost and what machine this is.
package procstat
