//go:build linux

package cluster

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/runspan/runspan/test/e2e/harness"
)

// sender is a program in a pod that sends spans over OTLP/gRPC and remembers which were acknowledged.
type sender struct {
	client ptraceotlp.GRPCClient
	token  string
	run    string

	mu           sync.Mutex
	acknowledged []string // harness.Span.Key
	total        int
	refused      int
	forgetful    bool
}

var senders, spanIDs atomic.Uint64

// sender connects from the pod's network; trust is nil for plain text.
func (p *netns) sender(t *testing.T, address string, trust *tls.Config) *sender {
	t.Helper()
	security := insecure.NewCredentials()
	if trust != nil {
		security = credentials.NewTLS(trust)
	}
	conn, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(security),
		grpc.WithContextDialer(p.dial),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, MaxDelay: time.Second}, MinConnectTimeout: 2 * time.Second,
		}))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &sender{client: ptraceotlp.NewGRPCClient(conn), run: fmt.Sprintf("run-%d", senders.Add(1))}
}

// send sends new spans in one request, once.
func (s *sender) send(ctx context.Context, n int) error {
	request, keys := s.request(n)
	return s.export(ctx, request, keys)
}

// sendUntil sends new spans in one request again and again until it is acknowledged, as an SDK does that
// has room to keep them.
func (s *sender) sendUntil(ctx context.Context, n int) error {
	request, keys := s.request(n)
	for {
		err := s.export(ctx, request, keys)
		if err == nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (s *sender) export(ctx context.Context, request ptraceotlp.ExportRequest, keys []string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if s.token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+s.token)
	}
	_, err := s.client.Export(ctx, request)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.refused++
		return err
	}
	s.total += len(keys)
	if !s.forgetful {
		s.acknowledged = append(s.acknowledged, keys...)
	}
	return nil
}

// request makes n spans of a new trace, each with 600 bytes of attributes.
func (s *sender) request(n int) (ptraceotlp.ExportRequest, []string) {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "worker")
	rs.Resource().Attributes().PutStr("run.id", s.run)
	spans := rs.ScopeSpans().AppendEmpty().Spans()
	spans.EnsureCapacity(n)
	var trace pcommon.TraceID
	binary.BigEndian.PutUint64(trace[8:], spanIDs.Add(1))
	trace[0] = 1
	keys := make([]string, 0, n)
	now := time.Now()
	for range n {
		span := spans.AppendEmpty()
		var id pcommon.SpanID
		binary.BigEndian.PutUint64(id[:], spanIDs.Add(1))
		span.SetTraceID(trace)
		span.SetSpanID(id)
		span.SetName("generate")
		span.SetStartTimestamp(pcommon.NewTimestampFromTime(now))
		span.SetEndTimestamp(pcommon.NewTimestampFromTime(now.Add(time.Millisecond)))
		for i := range 6 {
			span.Attributes().PutStr(fmt.Sprintf("attribute.%d", i), filler)
		}
		keys = append(keys, harness.Span{TraceID: trace.String(), SpanID: id.String()}.Key())
	}
	return ptraceotlp.NewExportRequestFromTraces(td), keys
}

const filler = "a value of about a hundred bytes, as the attributes of spans of training jobs are on average ......."

// load sends from several goroutines until the returned function is called, which waits for the answers.
// pause is the time from the start of a request to the next of the same goroutine.
func (s *sender) load(t *testing.T, goroutines, spans int, pause time.Duration) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for ctx.Err() == nil {
				next := time.Now().Add(pause)
				// What is on its way at the end is waited for: ctx ends the loop only.
				if err := s.send(context.WithoutCancel(ctx), spans); err != nil {
					next = time.Now().Add(50 * time.Millisecond)
				}
				time.Sleep(time.Until(next))
			}
		})
	}
	stop = func() {
		cancel()
		all.Wait()
	}
	t.Cleanup(stop)
	return stop
}

// keys returns which spans were acknowledged so far.
func (s *sender) keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.acknowledged)
}

// refusals returns how many requests were not acknowledged so far.
func (s *sender) refusals() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// forget makes the sender remember only how many spans were acknowledged, for long runs.
func (s *sender) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetful, s.acknowledged = true, nil
}

// count returns how many spans were acknowledged so far.
func (s *sender) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// missing returns an error when an acknowledged span is not in the file or its closed segments.
func (s *sender) missing(t *testing.T, file string) error {
	t.Helper()
	files, err := filepath.Glob(strings.TrimSuffix(file, ".jsonl") + "*.jsonl")
	require.NoError(t, err)
	there := map[string]bool{}
	for _, file := range files {
		for _, span := range harness.ReadTraceFile(t, file) {
			there[span.Key()] = true
		}
	}
	keys := s.keys()
	require.NotEmpty(t, keys)
	missing := 0
	for _, key := range keys {
		if !there[key] {
			missing++
		}
	}
	if missing > 0 {
		return fmt.Errorf("%d of %d acknowledged spans are missing", missing, len(keys))
	}
	return nil
}

func (s *sender) requireWritten(t *testing.T, file string) {
	t.Helper()
	require.NoError(t, s.missing(t, file))
}

// connects reports whether a TCP connection can be made from within the pod.
func (p *netns) connects(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := p.dial(ctx, address)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
