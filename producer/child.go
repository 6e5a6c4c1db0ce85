package producer

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// tailLines is how much of a child's log is kept, to be shown when it fails.
const tailLines = 20

// child is a process that this one has started and stops.
type child struct {
	name string
	cmd  *exec.Cmd
	log  *logTail
	done chan struct{} // closed when it has ended and its log is complete
	err  error         // of its end; valid after done
	told atomic.Bool   // a person was shown the end of its log
}

// startChild starts a program. line, if not nil, is called for each line of its log.
func startChild(name string, cmd *exec.Cmd, line func(string)) (*child, error) {
	c := &child{name: name, cmd: cmd, log: &logTail{line: line}, done: make(chan struct{})}
	cmd.Stderr = c.log
	cmd.WaitDelay = time.Second // for what it has started and left behind
	// A group of its own: Ctrl-C is for the program, whose last spans are to be taken still.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(cmd)
	started := make(chan error, 1)
	go func() {
		// The kernel ends a child when the thread that started it ends: this one stays until then.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			c.err = cmd.Wait()
			c.log.flush()
		}
		close(c.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("producer: %s cannot be started: %w", name, err)
	}
	return c, nil
}

// ended reports whether the process is gone.
func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// stop asks the process to end, and kills it after the given time.
func (c *child) stop(within time.Duration) error {
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.done:
		return nil
	case <-time.After(within):
	}
	_ = c.cmd.Process.Kill()
	<-c.done
	return fmt.Errorf("producer: %s did not end within %s of SIGTERM and was killed", c.name, within)
}

// how says how the process ended, with the end of its log the first time.
func (c *child) how() string {
	how := "with code 0"
	if exit, ok := errors.AsType[*exec.ExitError](c.err); ok {
		how = exit.String()
	}
	if c.told.Swap(true) {
		return how
	}
	return how + c.logEnd()
}

// logEnd is the end of the log, to be put behind a sentence; "" where there is none.
func (c *child) logEnd() string {
	tail := c.log.String()
	if tail == "" {
		return ""
	}
	return "; the end of its log:\n" + tail
}

// program finds a program of ours: the one that a setting names, the one beside this program, the one
// in PATH.
func program(setting, set, name string) (string, error) {
	if set != "" {
		if _, err := exec.LookPath(set); err != nil {
			return "", fmt.Errorf("producer: %s: %w", setting, err)
		}
		return set, nil
	}
	if self, err := os.Executable(); err == nil {
		if target, err := filepath.EvalSymlinks(self); err == nil {
			self = target
		}
		beside := filepath.Join(filepath.Dir(self), name)
		if _, err := exec.LookPath(beside); err == nil {
			return beside, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("producer: %s: %s is not beside this program, nor in PATH: install it, or set its path: %w", setting, name, err)
	}
	return path, nil
}

// logTail takes the log of a process and keeps the last lines.
type logTail struct {
	line func(string)

	mu    sync.Mutex
	part  []byte
	lines []string
}

// Write implements io.Writer.
func (l *logTail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.part = append(l.part, p...)
	for {
		line, rest, whole := bytes.Cut(l.part, []byte("\n"))
		if !whole {
			break
		}
		l.add(string(line))
		l.part = rest
	}
	const longest = 64 << 10 // a line without an end must not fill the memory
	if len(l.part) > longest {
		l.add(string(l.part))
		l.part = nil
	}
	return len(p), nil
}

func (l *logTail) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.part) > 0 {
		l.add(string(l.part))
		l.part = nil
	}
}

func (l *logTail) add(line string) {
	if l.line != nil {
		l.line(line)
	}
	l.lines = append(l.lines, line)
	l.lines = l.lines[max(0, len(l.lines)-tailLines):]
}

// String returns the last lines.
func (l *logTail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}
