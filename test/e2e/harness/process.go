package harness

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Process is a child of the test. Its output is kept and shown when the test fails.
type Process struct {
	name string
	cmd  *exec.Cmd
	log  *logBuffer
	done chan struct{} // closed when the process has ended and its output is complete
	err  error         // valid after done
}

// Start starts a program and ends it with the test, whatever the test does.
func Start(t *testing.T, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{name: filepath.Base(cmd.Path), cmd: cmd, log: &logBuffer{}, done: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = p.log
	}
	cmd.Stderr = p.log
	cmd.WaitDelay = 5 * time.Second
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	// A group of its own: what a child starts (actors, what strace runs) ends with it.
	cmd.SysProcAttr.Setpgid = true
	endWithParent(cmd)

	started := make(chan error, 1)
	go func() {
		// The kernel ends a child that asked for it when the thread that started it ends: this
		// goroutine keeps its thread until then.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
		close(p.done)
	}()
	if err := <-started; err != nil {
		t.Fatalf("start %s: %v", p.name, err)
	}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("the last output of %s:\n%s", p.name, p.log.tail(60))
		}
	})
	return p
}

// Stop asks the process to end (SIGTERM) and returns its exit code, -1 when it had to be killed
// after the given time.
func (p *Process) Stop(within time.Duration) int {
	p.Terminate()
	return p.Wait(within)
}

// Terminate asks the process to end (SIGTERM) and does not wait.
func (p *Process) Terminate() { _ = p.cmd.Process.Signal(syscall.SIGTERM) }

// Wait returns the exit code, -1 when the process had to be killed after the given time.
func (p *Process) Wait(within time.Duration) int {
	select {
	case <-p.done:
	case <-time.After(within):
		p.Kill()
		return -1
	}
	if exit, ok := errors.AsType[*exec.ExitError](p.err); ok {
		return exit.ExitCode()
	}
	return 0
}

// Kill ends the process and what it started at once (SIGKILL) and waits until it is gone.
func (p *Process) Kill() {
	select {
	case <-p.done: // its number may be somebody else's by now
	default:
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	}
	<-p.done
}

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.done }

// Log returns everything that the process has written to its standard error (and output) so far.
func (p *Process) Log() string { return p.log.String() }

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func (b *logBuffer) tail(lines int) string {
	all := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
