package doctor

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

// world is a collector by OTLP/HTTP that writes a file, a viewer and a Jaeger, in one server.
type world struct {
	file  string
	spans atomic.Int64
}

func (w *world) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	answer := func(status int, body map[string]any) {
		out.WriteHeader(status)
		_ = json.NewEncoder(out).Encode(body)
	}
	switch r.URL.Path {
	case "/v1/traces":
		body, _ := io.ReadAll(r.Body)
		req := ptraceotlp.NewExportRequest()
		if req.UnmarshalProto(body) != nil {
			out.WriteHeader(http.StatusBadRequest)
			return
		}
		out.Header().Set("Content-Type", protobuf)
		w.spans.Add(int64(req.Traces().SpanCount()))
		if w.file != "" {
			line, _ := (&ptrace.JSONMarshaler{}).MarshalTraces(req.Traces())
			if appendData(w.file, append(line, '\n')) != nil {
				out.WriteHeader(http.StatusServiceUnavailable)
			}
		}
	case "/api/health":
		answer(http.StatusOK, map[string]any{"version": "0", "state": "ready"})
	case "/api/run":
		answer(http.StatusOK, map[string]any{"run_id": r.URL.Query().Get("run"), "spans": w.spans.Load()})
	default:
		answer(http.StatusOK, map[string]any{"data": []any{map[string]any{"spans": []any{map[string]any{}}}}})
	}
}

func TestRun(t *testing.T) {
	w := &world{file: filepath.Join(t.TempDir(), "traces.jsonl")}
	server := httptest.NewServer(w)
	defer server.Close()
	r, err := Run(t.Context(), Settings{
		Endpoint: server.URL, Protocol: HTTP, TraceFile: w.file, Viewer: server.URL, Jaeger: server.URL + "/", Timeout: 10 * time.Second,
	})
	require.NoError(t, err)
	assert.True(t, r.OK, r.Places)
	var places []string
	for _, p := range r.Places {
		assert.Equal(t, OK, p.State, p)
		places = append(places, p.Place)
	}
	assert.Equal(t, []string{"name", "connect", "send", "file", "viewer", "jaeger", "clock"}, places)
	assert.Equal(t, int64(1), w.spans.Load(), "a healthy way is not probed")
}

// The exit code is that of the first finding on the way, and what is behind it is looked at all the same.
func TestRunWithSeveralFindings(t *testing.T) {
	server := httptest.NewServer(&world{})
	defer server.Close()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	r, err := Run(t.Context(), Settings{
		Endpoint: server.URL, Protocol: HTTP, TraceFile: filepath.Join(t.TempDir(), "traces.jsonl"),
		Viewer: closed.URL, Jaeger: closed.URL, Timeout: 300 * time.Millisecond,
	})
	require.NoError(t, err)
	var names []string
	for _, p := range r.Places {
		if p.Finding != "" {
			names = append(names, p.Finding)
		}
	}
	assert.Equal(t, []string{"file-missing", "viewer-unreachable", "jaeger-unreachable"}, names)
	assert.Equal(t, fileMissing.Code, r.ExitCode)
	assert.False(t, r.OK)
}

func TestRunIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	began := time.Now()
	_, err := Run(ctx, Settings{Endpoint: server.URL, Protocol: HTTP, Timeout: time.Minute})
	require.ErrorIs(t, err, context.Canceled)
	assert.Less(t, time.Since(began), 10*time.Second)
}
