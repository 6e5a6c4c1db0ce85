package runidprocessor

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// TestBehindTheReceiver holds what depends on the OTLP receiver in front: that headers get through,
// over both protocols, and what a client is told when its request is refused.
func TestBehindTheReceiver(t *testing.T) {
	p := newTested(t, config(func(c *Config) { c.Fallback.Action = FallbackReject }))
	grpcAddr, httpAddr := freeAddr(t), freeAddr(t)
	startReceiver(t, grpcAddr, httpAddr, p)
	request := ptraceotlp.NewExportRequestFromTraces(tracesOf(t, resourceSpec{nil, []spanSpec{{1, 1, nil}}}))
	runOf := func() any {
		require.Len(t, p.sink.AllTraces(), 1)
		got := p.sink.AllTraces()[0].ResourceSpans().At(0).Resource().Attributes().AsRaw()["run.id"]
		p.sink.Reset()
		return got
	}

	t.Run("http", func(t *testing.T) {
		body, err := request.MarshalProto()
		require.NoError(t, err)
		post := func(header, value string) (int, string) {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+httpAddr+"/v1/traces", bytes.NewReader(body))
			require.NoError(t, err)
			req.Header.Set("Content-Type", "application/x-protobuf")
			req.Header.Set(header, value)
			client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			resp, err := client.Do(req)
			require.NoError(t, err)
			defer func() { assert.NoError(t, resp.Body.Close()) }()
			answer, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			return resp.StatusCode, string(answer)
		}
		code, answer := post("X-Other", "x")
		assert.Equal(t, http.StatusBadRequest, code)
		assert.Contains(t, answer, "names no run")
		code, _ = post("X-Mlflow-Run-Id", "m")
		assert.Equal(t, http.StatusOK, code)
		assert.Equal(t, "m", runOf())
	})
	t.Run("grpc", func(t *testing.T) {
		conn, err := grpc.NewClient(grpcAddr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(t, err)
		defer func() { assert.NoError(t, conn.Close()) }()
		export := func(header, value string) error {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			_, err := ptraceotlp.NewGRPCClient(conn).Export(metadata.AppendToOutgoingContext(ctx, header, value), request)
			return err
		}
		// The trace is new: the one above is remembered.
		request = ptraceotlp.NewExportRequestFromTraces(tracesOf(t, resourceSpec{nil, []spanSpec{{2, 1, nil}}}))
		assert.Equal(t, codes.InvalidArgument, status.Code(export("x-other", "x")))
		require.NoError(t, export("baggage", "run.id=b"))
		assert.Equal(t, "b", runOf())
	})
}

func startReceiver(t *testing.T, grpcAddr, httpAddr string, next *tested) {
	t.Helper()
	f := otlpreceiver.NewFactory()
	cfg := f.CreateDefaultConfig()
	protocol := func(addr string) map[string]any {
		return map[string]any{"endpoint": addr, "include_metadata": true}
	}
	require.NoError(t, confmap.NewFromStringMap(map[string]any{
		"protocols": map[string]any{"grpc": protocol(grpcAddr), "http": protocol(httpAddr)},
	}).Unmarshal(cfg))
	r, err := f.CreateTraces(context.Background(), receiver.Settings{
		ID:                component.NewID(f.Type()),
		TelemetrySettings: componenttest.NewNopTelemetrySettings(),
	}, cfg, next)
	require.NoError(t, err)
	require.NoError(t, r.Start(context.Background(), componenttest.NewNopHost()))
	t.Cleanup(func() { require.NoError(t, r.Shutdown(context.Background())) })
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}
