package harness

import (
	"os/exec"
	"syscall"
)

// endWithParent makes the kernel end the child when the test process dies without its clean-up, as
// it does when `go test` runs into its time limit.
func endWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
