//go:build !linux

package process

import "syscall"

// ownGroup keeps a Ctrl-C in the terminal from the collectors, so that the harness ends them in order.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
