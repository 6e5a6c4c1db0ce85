package e2e

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/runspan/runspan/test/e2e/harness"
)

// memoryBackend is a backend whose answers a test decides.
type memoryBackend struct {
	ptraceotlp.UnimplementedGRPCServer
	address string
	answer  func(ptrace.Traces) error
	signals func(*grpc.Server) // adds other signals; default: none

	mu     sync.Mutex
	taken  []harness.Span
	server *grpc.Server
	served chan struct{} // closed when server no longer listens
}

func newMemoryBackend(t *testing.T, answer func(ptrace.Traces) error) *memoryBackend {
	t.Helper()
	b := &memoryBackend{address: harness.FreePorts(t, 1)[0], answer: answer}
	b.up(t)
	t.Cleanup(func() { b.down(t) })
	return b
}

func (b *memoryBackend) up(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", b.address)
	if err != nil {
		t.Fatal(err)
	}
	b.server = grpc.NewServer()
	ptraceotlp.RegisterGRPCServer(b.server, b)
	if b.signals != nil {
		b.signals(b.server)
	}
	b.served = make(chan struct{})
	go func() {
		defer close(b.served)
		_ = b.server.Serve(listener)
	}()
}

func (b *memoryBackend) down(t *testing.T) {
	t.Helper()
	b.server.Stop()
	// A server that is stopped before Serve has begun closes its listener there.
	<-b.served
}

// Export takes the spans when the test's answer is nil.
func (b *memoryBackend) Export(_ context.Context, req ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	if err := b.answer(req.Traces()); err != nil {
		return ptraceotlp.NewExportResponse(), err
	}
	b.take(req.Traces())
	return ptraceotlp.NewExportResponse(), nil
}

func (b *memoryBackend) take(td ptrace.Traces) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, rs := range td.ResourceSpans().All() {
		service, _ := rs.Resource().Attributes().Get("service.name")
		run, _ := rs.Resource().Attributes().Get("run.id")
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				b.taken = append(b.taken, harness.Span{
					TraceID: span.TraceID().String(), SpanID: span.SpanID().String(), Parent: parent(span.ParentSpanID()),
					Name: span.Name(), Service: service.Str(), Run: run.Str(),
				})
			}
		}
	}
}

func parent(id pcommon.SpanID) string {
	if id.IsEmpty() {
		return ""
	}
	return id.String()
}

func (b *memoryBackend) spans() []harness.Span {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]harness.Span{}, b.taken...)
}

// A backend that refuses one span for good: the others of its batch arrive, one is counted.
func TestRunFileReceiver_BackendRefusesOneSpan(t *testing.T) {
	for _, retry := range everyRetry {
		t.Run("retry "+retry, func(t *testing.T) {
			backend := newMemoryBackend(t, func(td ptrace.Traces) error {
				for _, rs := range td.ResourceSpans().All() {
					for _, span := range rs.ScopeSpans().At(0).Spans().All() {
						if span.SpanID() == (pcommon.SpanID{0, 0, 0, 0, 0, 0, 0, 50}) {
							return status.Error(codes.InvalidArgument, "I do not like this span")
						}
					}
				}
				return nil
			})
			backend.down(t)
			c := startTail(t, harness.CollectorSettings{Jaeger: backend.address}, retry)
			sent := sendBacklog(t, c, 3, 40, 10)
			backend.up(t)
			waitMetric(t, c, float64(len(sent)-1), "otelcol_receiver_run_file_delivered_spans")
			waitMetric(t, c, 1, "otelcol_receiver_run_file_refused_spans")
			waitMetric(t, c, 0, "otelcol_receiver_run_file_backlog_bytes")
			var want []harness.Span
			for _, s := range sent {
				if s.SpanID != "0000000000000032" {
					want = append(want, s)
				}
			}
			harness.RequireSameSpans(t, want, backend.spans())
		})
	}
}

// configs/otlp-http.yaml: any backend over HTTP, with a header from the environment. A wrong token
// is waited out, it does not empty the log.
func TestConfigOTLPHTTP(t *testing.T) {
	var mu sync.Mutex
	token := "Bearer later"
	memory := &memoryBackend{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		wrong := r.Header.Get("Authorization") != token
		mu.Unlock()
		if wrong || r.URL.Path != "/v1/traces" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		req, err := readRequest(r)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		memory.take(req.Traces())
	}))
	defer server.Close()
	t.Setenv("RUNSPAN_BACKEND", server.URL)
	t.Setenv("RUNSPAN_BACKEND_HEADER", "Bearer secret")
	c := harness.StartCollector(t, harness.CollectorSettings{Config: "otlp-http.yaml"})
	sent := harness.StartTraining(t, harness.TrainingSettings{Endpoint: c.GRPC, Samples: 4}).Wait(t)
	waitMetric(t, c, 0, "otelcol_receiver_run_file_backend_up")
	mu.Lock()
	token = "Bearer secret"
	mu.Unlock()
	waitMetric(t, c, float64(len(sent)), "otelcol_receiver_run_file_delivered_spans")
	waitMetric(t, c, 0, "otelcol_receiver_run_file_refused_spans")
	harness.RequireSameSpans(t, sent, memory.spans())
	if strings.Contains(c.Log(), "secret") {
		t.Fatal("the header is in the log")
	}
	if code := c.Stop(20 * time.Second); code != 0 {
		t.Fatalf("the collector ended with code %d", code)
	}
}

type metricsServer struct {
	pmetricotlp.UnimplementedGRPCServer
	taken chan<- int
}

func (s *metricsServer) Export(_ context.Context, req pmetricotlp.ExportRequest) (pmetricotlp.ExportResponse, error) {
	s.taken <- req.Metrics().DataPointCount()
	return pmetricotlp.NewExportResponse(), nil
}

type logsServer struct {
	plogotlp.UnimplementedGRPCServer
	taken chan<- int
}

func (s *logsServer) Export(_ context.Context, req plogotlp.ExportRequest) (plogotlp.ExportResponse, error) {
	s.taken <- req.Logs().LogRecordCount()
	return plogotlp.NewExportResponse(), nil
}
