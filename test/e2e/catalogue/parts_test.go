package catalogue

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
	"github.com/runspan/runspan/test/simulation"
)

// collectorConfig has one exporter, and a viewer of what it writes. Files are closed after a megabyte.
const collectorConfig = `
receivers:
  otlp:
    protocols:
      grpc: {endpoint: %[1]q}
      http: {endpoint: %[2]q}
processors:
  run_id:
exporters:
  run_file:
    path: %[3]q
    rotation: {max_bytes: 1000000}
extensions:
  run_viewer:
    endpoint: %[4]q
    files: [%[5]q]
    cache: %[6]q
service:
  extensions: [run_viewer]
  telemetry: {metrics: {level: none}}
  pipelines:
    traces: {receivers: [otlp], processors: [run_id], exporters: [run_file]}
`

// collector is a collector that is started several times, at the same addresses.
type collector struct {
	simulation.Endpoints
	viewer string // address of its run_viewer
	config string
}

// newCollector is a collector with this path of run_file, which may have placeholders. files is the
// pattern by which its viewer finds them.
func newCollector(t *testing.T, path, files string) *collector {
	t.Helper()
	at := harness.FreePorts(t, 3)
	c := &collector{simulation.Endpoints{GRPC: at[0], HTTP: at[1]}, at[2], filepath.Join(t.TempDir(), "config.yaml")}
	text := fmt.Sprintf(collectorConfig, at[0], at[1], path, at[2], files, t.TempDir())
	require.NoError(t, os.WriteFile(c.config, []byte(text), 0o600))
	return c
}

// start starts it and waits until it takes spans.
func (c *collector) start(t *testing.T) *harness.Process {
	t.Helper()
	p := harness.Start(t, exec.Command(harness.Binary(t), "--config", c.config))
	harness.WaitFor(t, 30*time.Second, "the collector to take spans", func() error {
		select {
		case <-p.Ended():
			t.Fatalf("the collector ended:\n%s", p.Log())
		default:
		}
		conn, err := net.DialTimeout("tcp", c.HTTP, time.Second)
		if err != nil {
			return err
		}
		return conn.Close()
	})
	return p
}

// startView starts `runspan view` on files, with a cache in a folder that is kept, and waits until it
// answers. It returns the process, to be killed and started again.
func startView(t *testing.T, files, cache, address string) *harness.Process {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	p := harness.Start(t, exec.Command(harness.CommandLine(t), "view", "--trace-jsonl", files, "--cache", cache,
		"--host", host, "--port", port))
	harness.WaitFor(t, 30*time.Second, "runspan view to answer", func() error {
		select {
		case <-p.Ended():
			t.Fatalf("runspan view ended:\n%s", p.Log())
		default:
		}
		response, err := http.Get("http://" + address + "/api/health")
		if err != nil {
			return err
		}
		return response.Body.Close()
	})
	return p
}
