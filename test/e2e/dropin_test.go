package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/runspan/runspan/test/e2e/harness"
)

// The config that XTuner writes beside its trace file and starts a binary called `otelcol` with:
// gRPC only, on every address, a rotating file, a Jaeger that is usually not there.
const xtunerConfig = `receivers:
  otlp:
    protocols:
      grpc:
        endpoint: 0.0.0.0:%[1]s
exporters:
  file:
    path: %[2]s
    rotation:
      max_megabytes: 64
      max_days: 0
      max_backups: 0
  otlp/jaeger:
    endpoint: 127.0.0.1:14317
    tls:
      insecure: true
service:
  telemetry:
    metrics:
      level: none
  pipelines:
    traces:
      receivers: [otlp]
      exporters: [file, otlp/jaeger]
`

// XTuner starts `otelcol` from PATH and gives it 3 s until its port takes a connection. Our binary
// under that name does its job. Without run_id in the config the spans stay as they came: the run
// is on the resource only, so the lines are compared by what the producer put there.
func TestDropInForXTunersOwnCollector(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "otelcol")
	if err := os.Symlink(harness.Binary(t), program); err != nil {
		t.Fatal(err)
	}
	address := harness.FreePorts(t, 1)[0]
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	traces := filepath.Join(dir, "traces.jsonl")
	if err := os.WriteFile(traces, nil, 0o600); err != nil { // XTuner touches it before the start
		t.Fatal(err)
	}
	config := filepath.Join(dir, "otelcol.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, xtunerConfig, port, traces), 0o600); err != nil {
		t.Fatal(err)
	}

	collector := harness.Start(t, exec.Command(program, "--config", config))
	harness.WaitFor(t, 3*time.Second, "the port, as long as XTuner waits", func() error {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			err = conn.Close()
		}
		return err
	})

	sent := harness.StartTraining(t, harness.TrainingSettings{Endpoint: address, Samples: 16}).Wait(t)
	harness.RequireSameSpans(t, sent, harness.ReadUntaggedTraceFile(t, traces))
	if code := collector.Stop(20 * time.Second); code != 0 {
		t.Fatalf("the collector ended with code %d", code)
	}
}
