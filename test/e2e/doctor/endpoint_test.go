package doctor

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

func TestNameThatDoesNotResolve(t *testing.T) {
	r := diagnose(t, "--endpoint", "http://runspan.invalid:4317", "--timeout", "3s")
	requireFinding(t, r, "name-not-found", 10, "runspan.invalid", "change: --endpoint http://runspan.invalid:4317: ")
	assert.Equal(t, "skipped", r.states()["send"])
}

func TestNothingListensOnLoopback(t *testing.T) {
	endpoint := "http://" + harness.FreePorts(t, 1)[0]
	r := diagnose(t, "--endpoint", endpoint, "--trace-jsonl", "x.jsonl")
	requireFinding(t, r, "loopback", 11, "nothing listens on "+strings.TrimPrefix(endpoint, "http://"), "change: --endpoint "+endpoint)
	assert.Equal(t, "skipped", r.states()["file"])
	r = diagnoseIn(t, []string{"KUBERNETES_SERVICE_HOST=10.0.0.1"}, nil, "--endpoint", endpoint)
	requireFinding(t, r, "loopback", 11, "in this pod")
}

// A collector beside the program, in the same pod, is all right; that others do not reach it is said.
func TestLoopbackInAPodThatAnswers(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{})
	r := diagnoseIn(t, []string{"KUBERNETES_SERVICE_HOST=10.0.0.1"}, nil, "--endpoint", "http://"+c.GRPC)
	requireWell(t, r)
	require.Contains(t, r.stdout, "other pods do not reach it")
}

func TestGRPCOnTheHTTPPort(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{})
	r := diagnose(t, "--endpoint", "http://"+c.HTTP, "--protocol", "grpc")
	requireFinding(t, r, "grpc-on-http", 15, "speaks OTLP/HTTP", "change: --endpoint http://"+c.HTTP)
}

func TestHTTPOnTheGRPCPort(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{})
	r := diagnose(t, "--endpoint", "http://"+c.GRPC, "--protocol", "http")
	requireFinding(t, r, "http-on-grpc", 15, "speaks OTLP/gRPC", "change: --endpoint http://"+c.GRPC)
}

// The collector's health check and a Redis are no OTLP.
func TestAnotherServer(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{})
	other := serve(t, func(conn net.Conn) { _, _ = io.WriteString(conn, "-ERR unknown command\r\n") })
	for _, address := range []string{c.Health, c.Metrics, other} {
		for _, protocol := range []string{"grpc", "http"} {
			r := diagnose(t, "--endpoint", "http://"+address, "--protocol", protocol, "--timeout", "3s")
			requireFinding(t, r, "not-otlp", 15, "change: --endpoint http://"+address)
		}
	}
}

func TestWrongPath(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{})
	for _, path := range []string{"/otlp", "/v1/traces"} {
		r := diagnose(t, "--endpoint", "http://"+c.HTTP+path, "--protocol", "http")
		requireFinding(t, r, "path", 16, path+"/v1/traces", "change: --endpoint http://"+c.HTTP+path, "write http://"+c.HTTP)
	}
	r := diagnoseIn(t, []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://" + c.HTTP, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"}, nil)
	requireFinding(t, r, "path", 16, "write http://"+c.HTTP+"/v1/traces")
}

// An address that swallows everything costs a bounded time.
func TestBlackhole(t *testing.T) {
	silent := serve(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	for _, args := range [][]string{
		{"--protocol", "grpc", "--endpoint", "http://" + silent},
		{"--protocol", "http", "--endpoint", "http://" + silent},
		{"--protocol", "grpc", "--endpoint", "https://" + silent},
	} {
		t.Run(args[1]+" "+args[3], func(t *testing.T) {
			t.Parallel()
			r := diagnose(t, append(args, "--timeout", "1s")...)
			requireFinding(t, r, "no-answer", 13, "change: --endpoint "+args[3])
			assert.Less(t, r.took, 7*time.Second, "at most twice --timeout and five seconds")
		})
	}
}

// Ctrl-C ends it at once, and says so to scripts.
func TestInterrupted(t *testing.T) {
	reached := make(chan struct{}, 1)
	silent := serve(t, func(conn net.Conn) {
		reached <- struct{}{}
		_, _ = io.Copy(io.Discard, conn)
	})
	cmd := command(t, "--endpoint", "http://"+silent, "--timeout", "50s")
	go func() {
		<-reached
		<-reached // that it connects is tried first
		_ = cmd.Process.Signal(os.Interrupt)
	}()
	r := run(t, cmd)
	assert.Equal(t, 130, r.code, r.stderr)
	assert.Less(t, r.took, 20*time.Second)
}

func TestNoTracesPipeline(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{Config: testdata(t, "no-traces.yaml")})
	requireFinding(t, diagnose(t, "--endpoint", "http://"+c.GRPC), "no-traces", 18, "service.pipelines")
}

// A collector that refuses what it is sent says why, and the doctor repeats it.
func TestRejected(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{Config: testdata(t, "reject.yaml")})
	for _, args := range [][]string{
		{"--endpoint", "http://" + c.GRPC},
		{"--endpoint", "http://" + c.HTTP, "--protocol", "http"},
	} {
		requireFinding(t, diagnose(t, args...), "rejected", 18, "run")
	}
}

func TestPartialSuccess(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-protobuf")
		// ExportTraceServiceResponse{partial_success: {rejected_spans: 1, error_message: "too old"}}
		_, _ = w.Write([]byte("\x0a\x0b\x08\x01\x12\x07too old"))
	}))
	defer server.Close()
	requireFinding(t, diagnose(t, "--endpoint", server.URL, "--protocol", "http"), "rejected", 18, "too old")
}

// A full disk, a memory limit: the collector asks to come again.
func TestBusy(t *testing.T) {
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		defer server.Close()
		requireFinding(t, diagnose(t, "--endpoint", server.URL, "--protocol", "http"), "busy", 18, http.StatusText(status))
	}
}

// A proxy of the environment stands between an SDK and its collector, not between the doctor and it.
func TestProxyIsTold(t *testing.T) {
	r := diagnoseIn(t, []string{"HTTP_PROXY=http://127.0.0.1:1"}, nil, "--endpoint", "http://runspan.invalid:4318", "--protocol", "http", "--timeout", "2s")
	require.Contains(t, r.stdout, "HTTP_PROXY")
	require.Contains(t, r.stdout, "NO_PROXY")
}

// serve runs a server of one's own protocol on loopback until the test ends.
func serve(t *testing.T, each func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				each(conn)
			}()
		}
	}()
	return l.Addr().String()
}

func testdata(t *testing.T, name string) string {
	t.Helper()
	return filepath.Join(harness.Root(t), "test", "e2e", "doctor", "testdata", name)
}
