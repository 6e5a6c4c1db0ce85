package producer

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/runspan/runspan/test/e2e/harness"
)

// The key for an interrupt reaches a command in the foreground of a terminal once, as without
// `runspan exec`: many programs take a second one for "at once".
func TestInterruptKeyArrivesOnce(t *testing.T) {
	master, terminal := openTerminal(t)
	cmd := execCommand(t, "--host", "127.0.0.1", "--", os.Args[0])
	cmd.Env = append(cmd.Env, roleVariable+"=interrupted")
	out := &lockedBuffer{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	harness.WaitFor(t, roleWithin, "the command", func() error {
		if !strings.Contains(out.String(), "ready") {
			return errors.New(out.String())
		}
		return nil
	})
	_, err := master.Write([]byte{3}) // Ctrl-C
	require.NoError(t, err)
	select {
	case err = <-ended:
	case <-time.After(roleWithin):
		t.Fatal("it did not end: ", out.String())
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	require.True(t, ok, "%v", err)
	assert.Equal(t, 5, exit.ExitCode())
	assert.Contains(t, out.String(), "interrupts: 1\n")
}

func openTerminal(t *testing.T) (master, terminal *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = master.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = terminal.Close() })
	return master, terminal
}
