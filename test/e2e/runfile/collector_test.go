//go:build linux

// Package runfile tests the run_file exporter inside the real binary: what it promises at a kill, on
// a full disk, on a bad file system, and to somebody who reads along.
package runfile

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

// endWithin is how long a collector may take to end.
const endWithin = 30 * time.Second

// collector is a running otelcol-runspan with the run_file exporter.
type collector struct {
	*harness.Process
	endpoint string // OTLP/HTTP
}

func freePort(t *testing.T) string {
	t.Helper()
	return harness.FreePorts(t, 1)[0]
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
	args := append(slices.Clone(before), harness.Binary(t), "--config", config)
	return &collector{Process: harness.Start(t, exec.Command(args[0], args[1:]...)), endpoint: endpoint}
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
		case <-c.Ended():
			t.Fatalf("the collector ended with code %d:\n%s", c.Wait(0), c.Log())
		case <-time.After(10 * time.Millisecond):
			require.True(t, time.Now().Before(deadline), "not ready: %s", c.Log())
		}
	}
}

// terminate sends SIGTERM and returns how the collector ended. The collector listens before it is ready
// for the signal: one that comes between the two, right after its start, kills it.
func (c *collector) terminate(t *testing.T) error {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(c.Log(), "Everything is ready") },
		endWithin, 5*time.Millisecond, "not ready: %s", c.Log())
	time.Sleep(50 * time.Millisecond)
	c.Terminate()
	return c.wait(t)
}

// wait returns how the collector ended. One that does not end fails the test.
func (c *collector) wait(t *testing.T) error {
	t.Helper()
	switch code := c.Wait(endWithin); code {
	case 0:
		return nil
	case -1:
		t.Fatalf("killed, or still running after %s", endWithin)
		return nil
	default:
		return fmt.Errorf("exit code %d", code)
	}
}
