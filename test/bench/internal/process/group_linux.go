package process

import "syscall"

// ownGroup keeps a Ctrl-C in the terminal from the collectors, so that the harness ends them in
// order, and ends them with the harness should that be killed.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
