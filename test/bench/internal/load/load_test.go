package load_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/runspan/runspan/test/bench/internal/load"
	"github.com/runspan/runspan/test/bench/internal/spans"
	"github.com/runspan/runspan/test/bench/internal/stats"
)

var shape = spans.Shape{Spans: 3, Attributes: 2, Runs: 1, Naming: spans.OnResource}

// server is an OTLP server that calls answer with the number of each request.
type server struct {
	ptraceotlp.UnimplementedGRPCServer
	answer func(n int64) (rejected int64, err error)
	n      atomic.Int64
	mu     sync.Mutex
	traces map[pcommon.TraceID]bool
}

func (s *server) Export(_ context.Context, request ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	s.mu.Lock()
	for _, span := range request.Traces().ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
		s.traces[span.TraceID()] = true
	}
	s.mu.Unlock()
	response := ptraceotlp.NewExportResponse()
	rejected, err := s.answer(s.n.Add(1))
	response.PartialSuccess().SetRejectedSpans(rejected)
	return response, err
}

func start(t *testing.T, answer func(n int64) (int64, error)) (*server, *load.Clients) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &server{answer: answer, traces: map[pcommon.TraceID]bool{}}
	g := grpc.NewServer()
	ptraceotlp.RegisterGRPCServer(g, s)
	done := make(chan struct{})
	go func() { defer close(done); _ = g.Serve(listener) }()
	t.Cleanup(func() { g.Stop(); <-done })
	clients, err := load.Connect(listener.Addr().String(), 4, shape)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, clients.Close()) })
	return s, clients
}

func ok(int64) (int64, error) { return 0, nil }

func TestFloodSendsEachRequestOnce(t *testing.T) {
	s, clients := start(t, ok)
	require.NoError(t, clients.Flood(t.Context(), 50))
	require.NoError(t, clients.Flood(t.Context(), 7))
	assert.Equal(t, int64(57), s.n.Load())
	assert.Len(t, s.traces, 57, "each request has a trace of its own")
}

func TestRefusalsAreErrors(t *testing.T) {
	_, clients := start(t, func(n int64) (int64, error) {
		if n == 5 {
			return 0, status.Error(codes.Unavailable, "disk full")
		}
		return 0, nil
	})
	require.ErrorContains(t, clients.Flood(t.Context(), 50), "disk full")

	_, clients = start(t, func(int64) (int64, error) { return 2, nil })
	require.ErrorContains(t, clients.Flood(t.Context(), 1), "2 spans of a request were rejected")
}

func TestFloodEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, clients := start(t, func(n int64) (int64, error) {
		if n == 5 {
			cancel()
		}
		return 0, nil
	})
	require.Error(t, clients.Flood(ctx, 1_000_000_000))
}

func TestRateCountsFromTheIntendedTime(t *testing.T) {
	// The server stalls once, with all that it is asked meanwhile. A client that measured from when it
	// sent would see at most as many slow requests as it had under way; the 100 that fell into the
	// stall were all late.
	const stall = 200 * time.Millisecond
	var until atomic.Int64
	_, clients := start(t, func(n int64) (int64, error) {
		if n == 10 {
			until.Store(time.Now().Add(stall).UnixNano())
		}
		time.Sleep(time.Until(time.Unix(0, until.Load())))
		return 0, nil
	})
	latencies, err := clients.Rate(t.Context(), 300, 500)
	require.NoError(t, err)
	require.Len(t, latencies, 300)
	assert.IsNonDecreasing(t, latencies)
	late := 0
	for _, l := range latencies {
		if l > stall.Seconds()/2 {
			late++
		}
	}
	assert.GreaterOrEqual(t, late, 45, "half of the 100 requests of the stall waited longer than half of it")
	assert.GreaterOrEqual(t, stats.Percentile(latencies, 1), stall.Seconds()*0.9)
}

func TestImpossibleLoads(t *testing.T) {
	_, clients := start(t, ok)
	_, err := clients.Rate(t.Context(), 1, 0)
	require.ErrorContains(t, err, "must be more than 0")
	_, err = load.Connect("127.0.0.1:1", 0, shape)
	require.ErrorContains(t, err, "clients: 0")
	_, err = load.Connect("127.0.0.1:1", 1, spans.Shape{})
	require.ErrorContains(t, err, "must be at least 1")
}
