//go:build !linux

package procstat

import (
	"errors"
	"time"
)

var errLinuxOnly = errors.New("the CPU time of another process can be read on Linux only: run the benchmarks there")

// CPU fails: see the error.
func CPU(int) (time.Duration, error) { return 0, errLinuxOnly }

// ThreadCPU fails: see the error.
func ThreadCPU() (time.Duration, error) { return 0, errLinuxOnly }

// FreeDisk fails: see the error.
func FreeDisk(string) (uint64, error) { return 0, errLinuxOnly }

func fileSystem(string) string { return "unknown" }

// FlushDisk does nothing.
func FlushDisk() {}
