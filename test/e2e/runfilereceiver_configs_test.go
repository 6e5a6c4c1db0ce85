package e2e

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/runspan/runspan/test/e2e/harness"
)

func takeAll(ptrace.Traces) error { return nil }

func readRequest(r *http.Request) (ptraceotlp.ExportRequest, error) {
	req := ptraceotlp.NewExportRequest()
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return req, err
		}
		body = unzipped
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return req, err
	}
	return req, req.UnmarshalProto(data)
}

// waitTaken waits until a backend has the spans, each once.
func waitTaken(t *testing.T, b *memoryBackend, want []harness.Span) {
	t.Helper()
	harness.WaitFor(t, 30*time.Second, fmt.Sprintf("%d spans", len(want)), func() error {
		if n := len(b.spans()); n < len(want) {
			return fmt.Errorf("%d so far", n)
		}
		return nil
	})
	harness.RequireSameSpans(t, want, b.spans())
}

// configs/backfill.yaml: a new, empty backend is filled from old files, one run only, by config
// alone; and a second start sends nothing again.
func TestConfigBackfill(t *testing.T) {
	old := startTail(t, harness.CollectorSettings{}, "true")
	wanted := harness.StartTraining(t, harness.TrainingSettings{Endpoint: old.GRPC, RunID: "run/7 \u00e4", Samples: 16}).Wait(t)
	other := harness.StartTraining(t, harness.TrainingSettings{Endpoint: old.GRPC, RunID: "run/8", Samples: 16}).Wait(t)
	old.Kill()
	// An older segment beside the live file, as rotation leaves it.
	segment := filepath.Join(old.Data, "traces-20261201T090000Z-1.jsonl")
	if err := os.Rename(old.TraceFile(), segment); err != nil {
		t.Fatal(err)
	}
	next := startTail(t, harness.CollectorSettings{Data: old.Data}, "true")
	wanted = append(wanted, harness.StartTraining(t, harness.TrainingSettings{Endpoint: next.GRPC, RunID: "run/7 \u00e4", Samples: 16}).Wait(t)...)
	next.Kill()

	backend := newMemoryBackend(t, takeAll)
	t.Setenv("RUNSPAN_FILES", old.TraceFile())
	t.Setenv("RUNSPAN_RUN", "run/7 \u00e4")
	t.Setenv("RUNSPAN_BACKFILL", filepath.Join(old.Data, "backfill"))
	for range 2 {
		c := harness.StartCollector(t, harness.CollectorSettings{Config: "backfill.yaml", Jaeger: backend.address})
		waitTaken(t, backend, wanted)
		waitMetric(t, c, 0, "otelcol_receiver_run_file_backlog_bytes")
		if code := c.Stop(20 * time.Second); code != 0 {
			t.Fatalf("the collector ended with code %d", code)
		}
	}
	t.Setenv("RUNSPAN_RUN", "run/8")
	t.Setenv("RUNSPAN_BACKFILL", filepath.Join(old.Data, "backfill-8"))
	harness.StartCollector(t, harness.CollectorSettings{Config: "backfill.yaml", Jaeger: backend.address})
	waitTaken(t, backend, slices.Concat(wanted, other))
}

// configs/two-backends.yaml: one that is down does not hold up the other.
func TestConfigTwoBackends(t *testing.T) {
	first, second := newMemoryBackend(t, takeAll), newMemoryBackend(t, takeAll)
	second.down(t)
	t.Setenv("RUNSPAN_SECOND", second.address)
	c := harness.StartCollector(t, harness.CollectorSettings{Config: "two-backends.yaml", Jaeger: first.address})
	sent := harness.StartTraining(t, harness.TrainingSettings{Endpoint: c.GRPC, Samples: 16}).Wait(t)
	waitTaken(t, first, sent)
	if n := len(second.spans()); n != 0 {
		t.Fatalf("the backend that is down has %d spans", n)
	}
	c.Kill()
	second.up(t)
	harness.StartCollector(t, harness.CollectorSettings{Config: "two-backends.yaml", Jaeger: first.address, Data: c.Data})
	waitTaken(t, second, sent)
	harness.RequireSameSpans(t, sent, unique(first.spans()))
}

// configs/per-run-files.yaml: a file for each run, and a backend that has the spans of all.
func TestConfigPerRunFiles(t *testing.T) {
	backend := newMemoryBackend(t, takeAll)
	c := harness.StartCollector(t, harness.CollectorSettings{Config: "per-run-files.yaml", Jaeger: backend.address})
	files := map[string]string{"run/7 \u00e4": "run%2f7%20%c3%a4", "Run-8": "%52un-8", "run-8": "run-8"}
	var all []harness.Span
	for run, folder := range files {
		sent := harness.StartTraining(t, harness.TrainingSettings{Endpoint: c.GRPC, RunID: run, Samples: 4}).Wait(t)
		harness.RequireSameSpans(t, sent, harness.ReadTraceFile(t, filepath.Join(c.Data, "runs", folder, "traces.jsonl")))
		all = append(all, sent...)
	}
	waitTaken(t, backend, all)
	c.Kill()
	// Its places survive, and a run goes on in its file.
	c = harness.StartCollector(t, harness.CollectorSettings{Config: "per-run-files.yaml", Jaeger: backend.address, Data: c.Data})
	sent := harness.StartTraining(t, harness.TrainingSettings{Endpoint: c.GRPC, RunID: "Run-8", Samples: 4}).Wait(t)
	all = append(all, sent...)
	harness.WaitFor(t, 30*time.Second, "the spans of all runs", func() error {
		if n := len(unique(backend.spans())); n < len(all) {
			return fmt.Errorf("%d so far", n)
		}
		return nil
	})
	harness.RequireSameSpans(t, all, unique(backend.spans()))
}

// configs/jaeger-only.yaml: no file, and a backend that is down is a delay all the same.
func TestConfigJaegerOnly(t *testing.T) {
	backend := newMemoryBackend(t, takeAll)
	backend.down(t)
	c := harness.StartCollector(t, harness.CollectorSettings{Config: "jaeger-only.yaml", Jaeger: backend.address})
	sent := harness.StartTraining(t, harness.TrainingSettings{Endpoint: c.GRPC, Samples: 16}).Wait(t)
	c.Kill()
	backend.up(t)
	c = harness.StartCollector(t, harness.CollectorSettings{Config: "jaeger-only.yaml", Jaeger: backend.address, Data: c.Data})
	waitTaken(t, backend, sent)
	if _, err := os.Stat(c.TraceFile()); !os.IsNotExist(err) {
		t.Fatalf("there is a trace file: %v", err)
	}
}

// configs/all-signals.yaml: metrics and logs are forwarded, traces go through the file.
func TestConfigAllSignals(t *testing.T) {
	backend := newMemoryBackend(t, takeAll)
	t.Setenv("RUNSPAN_SIGNALS", backend.address)
	metrics, logs := make(chan int, 10), make(chan int, 10)
	backend.down(t)
	backend.signals = func(s *grpc.Server) {
		pmetricotlp.RegisterGRPCServer(s, &metricsServer{taken: metrics})
		plogotlp.RegisterGRPCServer(s, &logsServer{taken: logs})
	}
	backend.up(t)
	c := harness.StartCollector(t, harness.CollectorSettings{Config: "all-signals.yaml", Jaeger: backend.address})
	sent := harness.StartTraining(t, harness.TrainingSettings{Endpoint: c.GRPC, Samples: 4}).Wait(t)
	conn, err := grpc.NewClient(c.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	md := pmetric.NewMetrics()
	md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().SetEmptyGauge().DataPoints().AppendEmpty()
	if _, err := pmetricotlp.NewGRPCClient(conn).Export(t.Context(), pmetricotlp.NewExportRequestFromMetrics(md)); err != nil {
		t.Fatal(err)
	}
	ld := plog.NewLogs()
	ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body().SetStr("hello")
	if _, err := plogotlp.NewGRPCClient(conn).Export(t.Context(), plogotlp.NewExportRequestFromLogs(ld)); err != nil {
		t.Fatal(err)
	}
	waitTaken(t, backend, sent)
	if n := receiveWithin(t, metrics); n != 1 {
		t.Fatalf("%d data points", n)
	}
	if n := receiveWithin(t, logs); n != 1 {
		t.Fatalf("%d log records", n)
	}
	harness.RequireSameSpans(t, sent, harness.ReadTraceFile(t, c.TraceFile()))
}

func receiveWithin(t *testing.T, c <-chan int) int {
	t.Helper()
	select {
	case n := <-c:
		return n
	case <-time.After(30 * time.Second):
		t.Fatal("nothing arrived")
		return 0
	}
}
