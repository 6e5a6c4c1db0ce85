//go:build !linux

package harness

import "os/exec"

// endWithParent does nothing: only Linux can tie a child to its parent.
func endWithParent(*exec.Cmd) {}
