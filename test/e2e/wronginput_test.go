package e2e

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/runspan/runspan/test/e2e/harness"
)

// Wrong input over the wire: a clear answer, nothing of it in the file, and what was stored before
// stays as it was.
func TestWrongRequests(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{})
	before := harness.StartTraining(t, harness.TrainingSettings{Endpoint: c.GRPC, Samples: 4}).Wait(t)
	stored, err := os.ReadFile(c.TraceFile())
	if err != nil {
		t.Fatal(err)
	}
	tooLarge := marshal(t, spanWithAttribute(strings.Repeat("x", 9<<20)))

	const protobuf, text, jsonType = "application/x-protobuf", "text/plain", "application/json"
	for _, tc := range []struct {
		name        string
		method      string
		path        string
		contentType string
		body        []byte
		wantStatus  int
	}{
		{"wrong content type", http.MethodPost, "/v1/traces", text, []byte("hello"), http.StatusUnsupportedMediaType},
		{"wrong method", http.MethodGet, "/v1/traces", protobuf, nil, http.StatusMethodNotAllowed},
		{"wrong path", http.MethodPost, "/v1/trace", protobuf, nil, http.StatusNotFound},
		{"no protobuf", http.MethodPost, "/v1/traces", protobuf, []byte("hello"), http.StatusBadRequest},
		{"cut protobuf", http.MethodPost, "/v1/traces", protobuf, tooLarge[:1000], http.StatusBadRequest},
		{"no JSON", http.MethodPost, "/v1/traces", jsonType, []byte("{"), http.StatusBadRequest},
		{"JSON of another kind", http.MethodPost, "/v1/traces", jsonType, []byte(`{"resourceSpans": 7}`), http.StatusBadRequest},
		{
			"bad trace id", http.MethodPost, "/v1/traces", jsonType,
			[]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"xyz","spanId":"eee19b7ec3c1b174"}]}]}]}`), http.StatusBadRequest,
		},
		{"too large", http.MethodPost, "/v1/traces", protobuf, tooLarge, http.StatusBadRequest},
		{"metrics, for which there is no pipeline", http.MethodPost, "/v1/metrics", protobuf, nil, http.StatusNotFound},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, body := post(t, tc.method, "http://"+c.HTTP+tc.path, tc.contentType, tc.body)
			if code != tc.wantStatus {
				t.Fatalf("status %d, want %d: %s", code, tc.wantStatus, body)
			}
			if strings.TrimSpace(body) == "" {
				t.Fatal("the answer gives no reason")
			}
		})
	}
	t.Run("too large over gRPC", func(t *testing.T) {
		err := export(t, c.GRPC, spanWithAttribute(strings.Repeat("x", 9<<20)))
		if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "larger than max") {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("not OTLP at all", func(t *testing.T) {
		for _, address := range []string{c.GRPC, c.HTTP} {
			sendNoise(t, address)
		}
	})
	now, err := os.ReadFile(c.TraceFile())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(now, stored) {
		t.Fatalf("the file changed: %d bytes before, %d now", len(stored), len(now))
	}
	after := harness.StartTraining(t, harness.TrainingSettings{Endpoint: c.GRPC, Samples: 4}).Wait(t)
	harness.RequireSameSpans(t, append(before, after...), harness.ReadTraceFile(t, c.TraceFile()))
}

// Attributes nested hundreds of thousands deep: what is decoded or written by recursion could end the
// process with all runs in it. The limits on message sizes keep the depth below what a stack holds,
// and the file stays readable for Python, whose parser gives up near 1000 levels.
func TestAttributesNestedWithoutEnd(t *testing.T) {
	for _, size := range []int{1 << 20, 8<<20 - 64} {
		c := harness.StartCollector(t, harness.CollectorSettings{})
		code, body := post(t, http.MethodPost, "http://"+c.HTTP+"/v1/traces", "application/x-protobuf", nested(size))
		t.Logf("%d bytes: status %d: %.200q", size, code, body)
		sent := harness.StartTraining(t, harness.TrainingSettings{Endpoint: c.GRPC, Samples: 4}).Wait(t)
		if len(sent) == 0 {
			t.Fatal("nothing was acknowledged afterwards")
		}
		lines := readWithPython(t, c.TraceFile())
		if lines < 2 {
			t.Fatalf("%d lines in the file", lines)
		}
		if code := c.Stop(30 * time.Second); code != 0 {
			t.Fatalf("the collector ended with code %d", code)
		}
	}
}

// readWithPython parses every line with Python's own JSON parser and returns how many there are.
func readWithPython(t *testing.T, path string) int {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		harness.Missing(t, "Python", "install python3")
	}
	const program = "import json, sys; print(len([json.loads(line) for line in open(sys.argv[1], encoding='utf-8')]))"
	out, err := exec.CommandContext(t.Context(), "python3", "-c", program, path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %.500s", err, out)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Starts that cannot work: the process ends with an error that names what is wrong, and what was
// stored stays as it was.
func TestWrongStarts(t *testing.T) {
	t.Run("an unknown key", func(t *testing.T) {
		local, err := os.ReadFile(filepath.Join(harness.Root(t), "configs", "local.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		config := filepath.Join(t.TempDir(), "config.yaml")
		wrong := bytes.Replace(local, []byte("  run_id:\n"), []byte("  run_id: {fallback_run: none}\n"), 1)
		if bytes.Equal(wrong, local) {
			t.Fatal("local.yaml has no line `  run_id:`")
		}
		if err := os.WriteFile(config, wrong, 0o600); err != nil {
			t.Fatal(err)
		}
		requireEnds(t, harness.LaunchCollector(t, harness.CollectorSettings{Config: config}), "run_id", "fallback_run")
	})
	t.Run("a port in use", func(t *testing.T) {
		first := harness.StartCollector(t, harness.CollectorSettings{})
		sent := harness.StartTraining(t, harness.TrainingSettings{Endpoint: first.GRPC, Samples: 4}).Wait(t)
		t.Setenv("RUNSPAN_TEST_TAKEN", first.GRPC)
		config := localWith(t, "${env:RUNSPAN_OTLP_GRPC:-127.0.0.1:4317}", "${env:RUNSPAN_TEST_TAKEN}")
		requireEnds(t, harness.LaunchCollector(t, harness.CollectorSettings{Config: config}), first.GRPC, "address already in use")
		harness.RequireSameSpans(t, sent, harness.ReadTraceFile(t, first.TraceFile()))
	})
	t.Run("a data folder that is a file", func(t *testing.T) {
		data := filepath.Join(t.TempDir(), "data")
		if err := os.WriteFile(data, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		requireEnds(t, harness.LaunchCollector(t, harness.CollectorSettings{Data: data}), data)
		if got, err := os.ReadFile(data); err != nil || string(got) != "mine" {
			t.Fatalf("the file is now %q, %v", got, err)
		}
	})
	t.Run("a data folder without write permission", func(t *testing.T) {
		data := filepath.Join(harness.WorldTempDir(t), "data")
		if err := os.Mkdir(data, 0o555); err != nil {
			t.Fatal(err)
		}
		requireEnds(t, harness.LaunchCollector(t, harness.CollectorSettings{Data: data, Unprivileged: true}), data, "permission denied")
	})
}

func requireEnds(t *testing.T, c *harness.Collector, wantInLog ...string) {
	t.Helper()
	if code := c.Wait(20 * time.Second); code <= 0 {
		t.Fatalf("exit code %d, want an error", code)
	}
	for _, want := range wantInLog {
		if !strings.Contains(c.Log(), want) {
			t.Fatalf("the log does not name %q:\n%s", want, c.Log())
		}
	}
}

// localWith writes a copy of local.yaml with one replacement and returns its path.
func localWith(t *testing.T, old, replacement string) string {
	t.Helper()
	local, err := os.ReadFile(filepath.Join(harness.Root(t), "configs", "local.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(local, []byte(old)) {
		t.Fatalf("local.yaml has no %q", old)
	}
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, bytes.Replace(local, []byte(old), []byte(replacement), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
