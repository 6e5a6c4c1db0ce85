package producer

import (
	"os/exec"
	"syscall"
)

// endWithParent makes the kernel ask the child to end when this process is killed.
func endWithParent(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM }
