package e2e

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/runspan/runspan/test/e2e/harness"
)

// A backend that is dead from the start: the clients see nothing, the file is complete, and when it
// is there everything arrives, once, without a restart.
func TestRunFileReceiver_BackendDeadFromTheStart(t *testing.T) {
	for _, retry := range everyRetry {
		t.Run("retry "+retry, func(t *testing.T) {
			address, data := harness.FreePorts(t, 1)[0], t.TempDir()
			c := startTail(t, harness.CollectorSettings{Jaeger: address}, retry)
			sent := harness.StartTraining(t, harness.TrainingSettings{Endpoint: c.GRPC}).Wait(t)
			harness.RequireSameSpans(t, sent, harness.ReadTraceFile(t, c.TraceFile()))
			if got := metric(t, c, "otelcol_receiver_run_file_backlog_bytes"); got == 0 {
				t.Fatal("no backlog")
			}
			backend := startBackend(t, address, data)
			harness.RequireSameSpans(t, sent, waitArrived(t, backend.TraceFile(), sent))
			waitMetric(t, c, 0, "otelcol_receiver_run_file_backlog_bytes")
			waitMetric(t, c, 1, "otelcol_receiver_run_file_backend_up")
			waitMetric(t, c, float64(len(sent)), "otelcol_receiver_run_file_delivered_spans")
			if n := strings.Count(c.Log(), "The backend does not take spans") + strings.Count(c.Log(), "The backend has not answered"); n > 1 {
				t.Fatalf("%d lines say that the backend is down", n)
			}
			if code := c.Stop(20 * time.Second); code != 0 {
				t.Fatalf("the collector ended with code %d", code)
			}
		})
	}
}

// Killed in mid-load and started again: what it had not acknowledged comes again, nothing is missing.
func TestRunFileReceiver_BackendKilledInMidLoad(t *testing.T) {
	for _, retry := range everyRetry {
		t.Run("retry "+retry, func(t *testing.T) {
			address, data := harness.FreePorts(t, 1)[0], t.TempDir()
			backend := startBackend(t, address, data)
			c := startTail(t, harness.CollectorSettings{Jaeger: address}, retry)
			training := harness.StartTraining(t, harness.TrainingSettings{Endpoint: c.GRPC})
			harness.WaitFor(t, 30*time.Second, "the first spans", func() error {
				if len(readSoFar(t, backend.TraceFile())) == 0 {
					return net.ErrClosed
				}
				return nil
			})
			backend.Kill()
			sent := training.Wait(t)
			harness.RequireSameSpans(t, sent, harness.ReadTraceFile(t, c.TraceFile()))
			backend = startBackend(t, address, data)
			harness.RequireSameSpans(t, sent, unique(waitArrived(t, backend.TraceFile(), sent)))
		})
	}
}

// A port that accepts and never answers is a backend that is down, and is noticed as such.
func TestRunFileReceiver_BackendBlackholed(t *testing.T) {
	for _, retry := range everyRetry {
		t.Run("retry "+retry, func(t *testing.T) {
			hole := newBlackhole(t)
			c := startTail(t, harness.CollectorSettings{Jaeger: hole.address}, retry)
			sent := harness.StartTraining(t, harness.TrainingSettings{Endpoint: c.GRPC}).Wait(t)
			harness.RequireSameSpans(t, sent, harness.ReadTraceFile(t, c.TraceFile()))
			waitMetric(t, c, 0, "otelcol_receiver_run_file_backend_up")
			hole.close()
			backend := startBackend(t, hole.address, t.TempDir())
			harness.RequireSameSpans(t, sent, waitArrived(t, backend.TraceFile(), sent))
			waitMetric(t, c, 1, "otelcol_receiver_run_file_backend_up")
		})
	}
}

// A backend that is down does not hold up the end of the process, and gets everything after the
// next start.
func TestRunFileReceiver_StopWithBackendDown(t *testing.T) {
	for _, retry := range everyRetry {
		t.Run("retry "+retry, func(t *testing.T) {
			address := harness.FreePorts(t, 1)[0]
			c := startTail(t, harness.CollectorSettings{Jaeger: address}, retry)
			sent := harness.StartTraining(t, harness.TrainingSettings{Endpoint: c.GRPC, Samples: 8}).Wait(t)
			waitMetric(t, c, 0, "otelcol_receiver_run_file_backend_up")
			started := time.Now()
			if code := c.Stop(20 * time.Second); code != 0 {
				t.Fatalf("the collector ended with code %d", code)
			}
			t.Logf("it took %s", time.Since(started))
			c = startTail(t, harness.CollectorSettings{Jaeger: address, Data: c.Data}, retry)
			backend := startBackend(t, address, t.TempDir())
			harness.RequireSameSpans(t, sent, waitArrived(t, backend.TraceFile(), sent))
			if code := c.Stop(20 * time.Second); code != 0 {
				t.Fatalf("the collector ended with code %d", code)
			}
			for file, offset := range places(t, c) {
				if size := fileSize(t, c.TraceFile()); offset != size {
					t.Fatalf("%s is at %d of %d bytes", filepath.Base(file), offset, size)
				}
			}
		})
	}
}

// blackhole is a listener that accepts connections and never answers.
type blackhole struct {
	address string
	close   func()
}

func newBlackhole(t *testing.T) *blackhole {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
		}
	}()
	shut := func() {
		_ = listener.Close()
		<-done
	}
	t.Cleanup(shut)
	return &blackhole{address: listener.Addr().String(), close: shut}
}
