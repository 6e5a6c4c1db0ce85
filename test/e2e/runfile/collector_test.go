//go:build linux

// Package runfile tests the run_file exporter inside the real binary: what it promises at a kill, on
// a full disk, on a bad file system, and to somebody who reads along.
package runfile

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var collectorBinary string

// TestMain takes the binary from RUNSPAN_BIN, or builds it.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		if collectorBinary = os.Getenv("RUNSPAN_BIN"); collectorBinary == "" {
			dir, err := os.MkdirTemp("", "runfile")
			if err != nil {
				panic(err)
			}
			defer func() { _ = os.RemoveAll(dir) }()
			collectorBinary = filepath.Join(dir, "otelcol-runspan")
			build := exec.Command("go", "build", "-o", collectorBinary, "github.com/runspan/runspan/cmd/otelcol-runspan")
			if out, err := build.CombinedOutput(); err != nil {
				panic(fmt.Sprintf("%v: %s", err, out))
			}
		}
		return m.Run()
	}())
}

// collector is a running otelcol-runspan with the run_file exporter.
type collector struct {
	cmd      *exec.Cmd
	endpoint string // OTLP/HTTP
	log      *logBuffer
	ended    chan struct{}
	err      error // after ended
}

type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// freePort asks the kernel. It stays ours as good as certainly: the kernel gives ports in turn.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// configFor is a collector's configuration with these settings of run_file, one a line.
func configFor(endpoint string, settings ...string) string {
	var s bytes.Buffer
	for _, line := range settings {
		fmt.Fprintf(&s, "    %s\n", line)
	}
	return fmt.Sprintf(`receivers:
  otlp:
    protocols:
      http: {endpoint: %q}
processors:
  run_id:
exporters:
  run_file:
%sservice:
  telemetry: {metrics: {level: none}}
  pipelines:
    traces: {receivers: [otlp], processors: [run_id], exporters: [run_file]}
`, endpoint, s.String())
}

// launch starts a collector without waiting for it, behind the command `before` if there is one.
func launch(t *testing.T, endpoint string, before []string, settings ...string) *collector {
	t.Helper()
	config := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(config, []byte(configFor(endpoint, settings...)), 0o600))
	args := append(slices.Clone(before), collectorBinary, "--config", config)
	c := &collector{
		cmd:      exec.CommandContext(context.WithoutCancel(t.Context()), args[0], args[1:]...),
		endpoint: endpoint,
		log:      &logBuffer{},
		ended:    make(chan struct{}),
	}
	c.cmd.Stdout, c.cmd.Stderr = c.log, c.log
	// A test that is killed takes its collector along; a group of its own, because strace does not.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	require.NoError(t, c.cmd.Start())
	go func() {
		c.err = c.cmd.Wait()
		close(c.ended)
	}()
	t.Cleanup(func() {
		c.kill()
		if t.Failed() {
			t.Logf("collector %d:\n%s", c.cmd.Process.Pid, c.log)
		}
	})
	return c
}

// startCollector starts a collector and waits until it takes spans.
func startCollector(t *testing.T, endpoint string, settings ...string) *collector {
	t.Helper()
	c := launch(t, endpoint, nil, settings...)
	c.awaitReady(t)
	return c
}

func (c *collector) awaitReady(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		conn, err := net.DialTimeout("tcp", c.endpoint, time.Second)
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-c.ended:
			t.Fatalf("the collector ended: %v\n%s", c.err, c.log)
		case <-time.After(10 * time.Millisecond):
			require.True(t, time.Now().Before(deadline), "not ready: %s", c.log)
		}
	}
}

// kill is kill -9.
func (c *collector) kill() {
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
	<-c.ended
}

// terminate sends SIGTERM and returns how the collector ended.
func (c *collector) terminate(t *testing.T) error {
	t.Helper()
	require.NoError(t, c.cmd.Process.Signal(syscall.SIGTERM))
	return c.wait(t)
}

func (c *collector) wait(t *testing.T) error {
	t.Helper()
	select {
	case <-c.ended:
		return c.err
	case <-time.After(30 * time.Second):
		t.Fatalf("still running:\n%s", c.log)
		return nil
	}
}
