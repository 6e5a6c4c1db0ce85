package producer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/emptypb"
)

// requests are what a server has seen of each: where to and with which token.
type requests struct {
	mu   sync.Mutex
	seen []string
}

func (r *requests) add(to, token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, to+" "+token)
}

func (r *requests) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen
}

// secureServer asks for a client's certificate; its own, and its key, are in the files.
func secureServer(t *testing.T, handler http.Handler) (server *httptest.Server, files TLS) {
	t.Helper()
	server = httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)
	dir := t.TempDir()
	files = TLS{CAFile: filepath.Join(dir, "ca.pem"), CertFile: filepath.Join(dir, "ca.pem"), KeyFile: filepath.Join(dir, "key.pem")}
	key, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(files.CAFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	require.NoError(t, os.WriteFile(files.KeyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600))
	return server, files
}

// sendOne sends a span and fails the test when it is not delivered.
func sendOne(t *testing.T, cfg Config) {
	t.Helper()
	cfg.Enabled = true
	s, err := resolve(cfg, variables(nil))
	require.NoError(t, err)
	provider, err := newProvider(t.Context(), &s, s.endpoint, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	_, span := provider.Tracer("test").Start(t.Context(), "work")
	span.End()
	require.NoError(t, provider.Shutdown(t.Context()))
}

func TestExportWithTLSAndToken(t *testing.T) {
	var got requests
	server, files := secureServer(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got.add(r.URL.Path, r.Header.Get("Authorization"))
	}))
	cfg := Config{TLS: files, Headers: map[string]string{"authorization": "Bearer x"}}

	cfg.Endpoint = server.URL + "/otlp"
	sendOne(t, cfg)
	assert.Equal(t, []string{"/otlp/v1/traces Bearer x"}, got.all())

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	rpc := grpc.NewServer(
		grpc.Creds(credentials.NewTLS(server.TLS)),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			method, _ := grpc.MethodFromServerStream(stream)
			md, _ := metadata.FromIncomingContext(stream.Context())
			got.add(method, strings.Join(md.Get("authorization"), ","))
			return errors.Join(stream.RecvMsg(&emptypb.Empty{}), stream.SendMsg(&emptypb.Empty{}))
		}),
	)
	served := make(chan error, 1)
	go func() { served <- rpc.Serve(listener) }()
	cfg.Endpoint = "https://" + listener.Addr().String()
	sendOne(t, cfg)
	rpc.Stop()
	require.NoError(t, <-served)
	require.Len(t, got.all(), 2)
	assert.Equal(t, "/opentelemetry.proto.collector.trace.v1.TraceService/Export Bearer x", got.all()[1])
}

func TestTLSFiles(t *testing.T) {
	dir := t.TempDir()
	nothing := filepath.Join(dir, "nothing.pem")
	require.NoError(t, os.WriteFile(nothing, nil, 0o600))
	for name, files := range map[string]TLS{
		"TLS.CAFile":                {CAFile: filepath.Join(dir, "missing.pem")},
		"TLS.CAFile no certificate": {CAFile: nothing},
		"TLS.CertFile, TLS.KeyFile": {CertFile: nothing, KeyFile: nothing},
	} {
		rt, err := Start(t.Context(), Config{Enabled: true, Endpoint: "https://h:4317", TLS: files})
		require.ErrorContains(t, err, strings.TrimSuffix(name, " no certificate"))
		assert.Equal(t, ModeOff, rt.Mode())
		assert.NoError(t, rt.Shutdown(t.Context()))
	}
}

// failing is an exporter that fails while it is told to.
type failing struct {
	sdktrace.SpanExporter
	err error
}

func (f *failing) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return f.err }
func (f *failing) Shutdown(context.Context) error                             { return nil }

// The reporter says once that spans are lost, once that they are delivered again, and how many were.
func TestReporter(t *testing.T) {
	var out strings.Builder
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "look" {
			return slog.Attr{}
		}
		return a
	}}))
	f := &failing{err: errors.New("down")}
	r := &reporter{SpanExporter: f, endpoint: "http://h:4317", log: log}
	spans := tracetest.SpanStubs{{Name: "a"}, {Name: "b"}}.Snapshots()
	for range 3 {
		require.NoError(t, r.ExportSpans(t.Context(), spans), "the SDK would print it")
	}
	f.err = nil
	for range 2 {
		require.NoError(t, r.ExportSpans(t.Context(), spans))
	}
	f.err = errors.New("down again")
	require.NoError(t, r.ExportSpans(t.Context(), spans))
	require.NoError(t, r.Shutdown(t.Context()))
	assert.Equal(t, []string{
		`level=WARN msg="spans are not delivered and are lost; the program goes on without them" endpoint=http://h:4317 error=down`,
		`level=INFO msg="spans are delivered again" endpoint=http://h:4317 lost=6`,
		`level=WARN msg="spans are not delivered and are lost; the program goes on without them" endpoint=http://h:4317 error="down again"`,
		`level=WARN msg="spans were lost" endpoint=http://h:4317 lost=2`,
	}, strings.Split(strings.TrimSpace(out.String()), "\n"))
}

func TestResource(t *testing.T) {
	s, err := resolve(Config{Enabled: true, Endpoint: "http://h:4317", RunID: "r", ServiceVersion: "3"},
		variables(map[string]string{"OTEL_SERVICE_NAME": "trainer", "OTEL_RESOURCE_ATTRIBUTES": "team=a,service.name=other"}))
	require.NoError(t, err)
	res, err := s.resource(t.Context())
	require.NoError(t, err)
	got := map[string]string{}
	for _, kv := range res.Attributes() {
		got[string(kv.Key)] = kv.Value.String()
	}
	for key, want := range map[string]string{
		"service.name": "trainer", "service.version": "3", "run.id": "r", "team": "a", "telemetry.sdk.language": "go",
	} {
		assert.Equal(t, want, got[key], key)
	}
	assert.NotEmpty(t, got["host.name"])
	assert.NotEmpty(t, got["process.pid"])
	assert.NotContains(t, got, "service.instance.id", "it is made by Start")
}

func TestLoopbackEndpoints(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST": true, "a.localhost": true, "127.0.0.1": true, "127.0.1.1": true, "[::1]": true, "0.0.0.0": true,
		"10.0.0.1": false, "collector": false, "localhost.example.com": false,
	} {
		u, err := url.Parse("http://" + host + ":4317")
		require.NoError(t, err)
		assert.Equal(t, want, endpoint{url: *u}.loopback(), host)
	}
}
