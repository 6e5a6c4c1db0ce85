package jaegerexporter

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jaegertracing/jaeger-idl/model/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	componentmetadata "github.com/runspan/runspan/components/jaegerexporter/internal/metadata"
)

// A server that fails some of five messages: each is taken once, and what is left behind is in the
// error.
func TestSecondOfFive(t *testing.T) {
	for name, tc := range map[string]struct {
		fails func(service string, time int) error
		taken string // in their order
		calls int
		left  string
		says  string
		code  codes.Code
	}{
		"down for a moment": {
			fails: func(service string, time int) error {
				if service == "service 2" && time == 1 {
					return status.Error(codes.Unavailable, "down")
				}
				return nil
			},
			taken: "1.1 2.1 2.2 3.1 4.1 5.1", calls: 6,
		},
		"refuses it": {
			fails: func(service string, _ int) error {
				if service == "service 2" {
					return status.Error(codes.InvalidArgument, "bad")
				}
				return nil
			},
			taken: "1.1 3.1 4.1 5.1", calls: 5, left: "2.1 2.2", says: "2 of 6 spans are refused: rpc error: code = InvalidArgument desc = bad", code: codes.InvalidArgument,
		},
		"refuses it and another, and is down for a moment": {
			fails: func(service string, time int) error {
				switch {
				case service == "service 2" || service == "service 5":
					return status.Error(codes.InvalidArgument, "bad "+service)
				case service == "service 4" && time == 1:
					return status.Error(codes.Unavailable, "down")
				}
				return nil
			},
			taken: "1.1 3.1 4.1", calls: 7, left: "2.1 2.2 5.1", says: "3 of 4 spans are refused: rpc error: code = InvalidArgument desc = bad service 2", code: codes.InvalidArgument,
		},
		"turns the sender away": {
			fails: func(service string, _ int) error {
				if service != "service 1" {
					return status.Error(codes.Unauthenticated, "who are you")
				}
				return nil
			},
			taken: "1.1", calls: 2, left: "2.1 2.2 3.1 4.1 5.1", says: "5 of 6 spans are refused", code: codes.Unauthenticated,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := startServer(t)
			times := map[string]int{}
			s.answer = func(_ context.Context, batch model.Batch) error {
				times[batch.Process.ServiceName]++
				return tc.fails(batch.Process.ServiceName, times[batch.Process.ServiceName])
			}
			err := startExporter(t, s.address).ConsumeTraces(t.Context(), resources(1, 2, 1, 1, 1))
			assert.Equal(t, tc.taken, strings.Join(s.operations(), " "))
			assert.Equal(t, tc.calls, s.calls)
			if tc.left == "" {
				require.NoError(t, err)
				return
			}
			assert.True(t, consumererror.IsPermanent(err))
			assert.Equal(t, tc.code, status.Code(err))
			require.ErrorContains(t, err, tc.says)
			partly, ok := errors.AsType[consumererror.Traces](err)
			require.True(t, ok)
			assert.Equal(t, tc.left, strings.Join(names(partly.Data()), " "))
		})
	}
}

// Without retries the error says what was not sent, for a sender that tries again by itself.
func TestNoRetry_ErrorHoldsTheRest(t *testing.T) {
	s := startServer(t)
	s.answer = func(_ context.Context, batch model.Batch) error {
		if batch.Process.ServiceName == "service 2" {
			return status.Error(codes.Unavailable, "down")
		}
		return nil
	}
	e := startExporter(t, s.address, map[string]any{"retry_on_failure": map[string]any{"enabled": false}})
	err := e.ConsumeTraces(t.Context(), resources(1, 1, 1))
	assert.False(t, consumererror.IsPermanent(err))
	partly, ok := errors.AsType[consumererror.Traces](err)
	require.True(t, ok)
	assert.Equal(t, []string{"2.1", "3.1"}, names(partly.Data()))
}

// The others of its batch are taken; the error names the setting.
func TestOversizedSpan(t *testing.T) {
	s := startServer(t)
	td := ptrace.NewTraces()
	resources(2, 2).CopyTo(td)
	td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(1).SetName(strings.Repeat("x", 5000))
	e := startExporter(t, s.address, map[string]any{"max_message_bytes": 4096})
	err := e.ConsumeTraces(t.Context(), td)
	require.True(t, consumererror.IsPermanent(err))
	require.ErrorContains(t, err, "1 of 4 spans are refused")
	require.ErrorContains(t, err, "max_message_bytes: 4096")
	assert.Less(t, len(err.Error()), 1000, "the log gets no 5000 bytes")
	assert.Equal(t, []string{"1.1", "2.1", "2.2"}, s.operations())
}

// Names that are not UTF-8 neither stop the exporter nor the server.
func TestInvalidText(t *testing.T) {
	s := startServer(t)
	td := ptrace.NewTraces()
	resources(1).CopyTo(td)
	td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).SetName("a\xffb")
	require.NoError(t, startExporter(t, s.address).ConsumeTraces(t.Context(), td))
	assert.Equal(t, []string{"a\xffb"}, s.operations())
}

func TestShutdown_ClosesTheConnection(t *testing.T) {
	s := startServer(t)
	cfg := createDefaultConfig().(*Config)
	cfg.ClientConfig.Endpoint, cfg.ClientConfig.TLS.Insecure = s.address, true
	e, err := NewFactory().CreateTraces(t.Context(), exportertest.NewNopSettings(componentmetadata.Type), cfg)
	require.NoError(t, err)
	require.NoError(t, e.Start(t.Context(), componenttest.NewNopHost()))
	require.NoError(t, e.ConsumeTraces(t.Context(), resources(3)))
	require.NoError(t, e.Shutdown(t.Context()))
	assert.Equal(t, []string{"1.1", "1.2", "1.3"}, s.operations(), "what was in the queue is sent before")
	require.Eventually(t, func() bool { return s.connections.Load() == 0 }, 10*time.Second, time.Millisecond)
}

// What the settings of the connection do at the server.
func TestConnection(t *testing.T) {
	s := startServer(t)
	var mu sync.Mutex
	var got metadata.MD
	s.answer = func(ctx context.Context, _ model.Batch) error {
		mu.Lock()
		defer mu.Unlock()
		got, _ = metadata.FromIncomingContext(ctx)
		return nil
	}
	e := startExporter(t, s.address, map[string]any{
		"headers":   map[string]any{"x-tenant": "training"},
		"authority": "jaeger.example.com",
	})
	require.NoError(t, e.ConsumeTraces(t.Context(), resources(1)))
	mu.Lock()
	defer mu.Unlock()
	assert.Equal(t, []string{"training"}, got.Get("x-tenant"))
	assert.Equal(t, []string{"jaeger.example.com"}, got.Get(":authority"))
	require.Len(t, got.Get("user-agent"), 1)
	assert.Regexp(t, `^OpenTelemetry Collector/latest \(`, got.Get("user-agent")[0])
}

// A server that does not answer: timeout ends the attempt, and the next one sends the rest.
func TestTimeout(t *testing.T) {
	s := startServer(t)
	hang := true
	s.answer = func(ctx context.Context, batch model.Batch) error {
		if end, ok := ctx.Deadline(); !ok || time.Until(end) > 300*time.Millisecond {
			return status.Error(codes.InvalidArgument, "no timeout of 300 ms")
		}
		if batch.Process.ServiceName == "service 2" && hang {
			hang = false
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}
	e := startExporter(t, s.address, map[string]any{"timeout": 300 * time.Millisecond})
	require.NoError(t, e.ConsumeTraces(t.Context(), resources(1, 1, 1)))
	assert.Equal(t, []string{"1.1", "2.1", "3.1"}, s.operations())
}

// A server that was not there at the start is no error of the start.
func TestServerDown(t *testing.T) {
	e := startExporter(t, "127.0.0.1:1", map[string]any{"retry_on_failure": map[string]any{"enabled": false}})
	err := e.ConsumeTraces(t.Context(), resources(1))
	require.Error(t, err)
	assert.False(t, consumererror.IsPermanent(err))
	assert.Equal(t, codes.Unavailable, status.Code(err))
}
