package jaegerexporter

import (
	"context"
	"encoding/binary"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jaegertracing/jaeger-idl/model/v1"
	"github.com/jaegertracing/jaeger-idl/proto-gen/api_v2"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	"github.com/runspan/runspan/components/jaegerexporter/internal/metadata"
)

// server is a collector on port 14250 that decides on each message.
type server struct {
	api_v2.UnimplementedCollectorServiceServer
	address     string
	connections atomic.Int64 // open ones

	// answer is asked before the batch is taken. Default: nil.
	answer func(ctx context.Context, batch model.Batch) error

	mu    sync.Mutex
	calls int
	taken []model.Batch
}

func (s *server) PostSpans(ctx context.Context, r *api_v2.PostSpansRequest) (*api_v2.PostSpansResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.answer != nil {
		if err := s.answer(ctx, r.Batch); err != nil {
			return nil, err
		}
	}
	s.taken = append(s.taken, r.Batch)
	return &api_v2.PostSpansResponse{}, nil
}

// operations returns the names of the spans that were taken, in their order.
func (s *server) operations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := []string{}
	for _, batch := range s.taken {
		for _, span := range batch.Spans {
			names = append(names, span.OperationName)
		}
	}
	return names
}

func (s *server) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (s *server) HandleRPC(context.Context, stats.RPCStats)                         {}
func (s *server) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (s *server) HandleConn(_ context.Context, c stats.ConnStats) {
	switch c.(type) {
	case *stats.ConnBegin:
		s.connections.Add(1)
	case *stats.ConnEnd:
		s.connections.Add(-1)
	}
}

func startServer(t *testing.T, options ...grpc.ServerOption) *server {
	t.Helper()
	s := &server{}
	s.address = serve(t, func(g *grpc.Server) { api_v2.RegisterCollectorServiceServer(g, s) },
		append(options, grpc.StatsHandler(s))...)
	return s
}

// serve starts a gRPC server on loopback and returns its address.
func serve(t *testing.T, register func(*grpc.Server), options ...grpc.ServerOption) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := grpc.NewServer(options...)
	register(g)
	done := make(chan error, 1)
	go func() { done <- g.Serve(listener) }()
	t.Cleanup(func() {
		g.Stop()
		require.NoError(t, <-done)
	})
	return listener.Addr().String()
}

// startExporter starts an exporter that sends to the address. It has no queue, so that the error of
// ConsumeTraces is that of the sending, and pauses of a millisecond. Settings come over that.
func startExporter(t *testing.T, address string, settings ...map[string]any) exporter.Traces {
	t.Helper()
	conf := confmap.NewFromStringMap(map[string]any{
		"endpoint":         address,
		"tls":              map[string]any{"insecure": true},
		"sending_queue":    map[string]any{"enabled": false},
		"retry_on_failure": map[string]any{"initial_interval": time.Millisecond, "max_interval": time.Millisecond},
	})
	for _, s := range settings {
		require.NoError(t, conf.Merge(confmap.NewFromStringMap(s)))
	}
	cfg := createDefaultConfig()
	require.NoError(t, conf.Unmarshal(cfg))
	require.NoError(t, confmap.Validate(cfg))
	e, err := NewFactory().CreateTraces(t.Context(), exportertest.NewNopSettings(metadata.Type), cfg)
	require.NoError(t, err)
	require.NoError(t, e.Start(t.Context(), componenttest.NewNopHost()))
	t.Cleanup(func() { require.NoError(t, e.Shutdown(context.Background())) })
	return e
}

// resources returns a resource for each number, with as many spans. The first is of the service
// "service 1" and its spans are "1.1", "1.2" and so on. It is read-only, as with several exporters.
func resources(spans ...int) ptrace.Traces {
	td := ptrace.NewTraces()
	for i, n := range spans {
		service := strconv.Itoa(i + 1)
		rs := td.ResourceSpans().AppendEmpty()
		rs.Resource().Attributes().PutStr("service.name", "service "+service)
		ss := rs.ScopeSpans().AppendEmpty()
		for j := range n {
			span := ss.Spans().AppendEmpty()
			span.SetName(service + "." + strconv.Itoa(j+1))
			span.SetTraceID(pcommon.TraceID{1})
			id := pcommon.SpanID{byte(i + 1)}
			binary.BigEndian.PutUint32(id[4:], uint32(j+1))
			span.SetSpanID(id)
			span.SetStartTimestamp(1e18)
			span.SetEndTimestamp(1e18 + 1e6)
		}
	}
	td.MarkReadOnly()
	return td
}

// names returns the names of all spans, in their order.
func names(td ptrace.Traces) []string {
	all := []string{}
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				all = append(all, span.Name())
			}
		}
	}
	return all
}
