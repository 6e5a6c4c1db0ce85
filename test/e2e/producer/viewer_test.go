package producer

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/producer"
	"github.com/runspan/runspan/test/e2e/harness"
)

// fakeViewer is a program in the place of runspan that notes its arguments, and serves them or fails.
func fakeViewer(t *testing.T, behaviour string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "runspan")
	text := "#!/bin/sh\n" + roleVariable + "=viewer VIEWER=" + behaviour + " exec " + os.Args[0] + ` "$@"` + "\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o700))
	return path
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(body)
}

// The viewer is started with the file of the run, is there as long as the program, and ends with it.
func TestViewerOfALocalRun(t *testing.T) {
	cfg := localConfig(t)
	cfg.RunID = "my run"
	cfg.Viewer = producer.Viewer{Enabled: true, Binary: fakeViewer(t, "serve"), JaegerQueryURL: "http://jaeger:16686"}
	w, r := startWorker(t, roleCommand(t, "worker", cfg))
	require.NotEmpty(t, r.Viewer, w.Log())
	port := r.Viewer[strings.LastIndex(r.Viewer, ":")+1:]
	assert.Equal(t, "http://127.0.0.1:"+port, r.Viewer)
	assert.Equal(t, strings.Join([]string{
		"view", "--trace-jsonl", r.File, "--run-id", "my run", "--host", "127.0.0.1", "--port", port, "--jaeger-query-url", "http://jaeger:16686",
	}, "\n"), get(t, r.Viewer))
	w.end(t)
	requireGone(t, cfg.Local.OutputDir)
}

// With an external collector the viewer reads the file that it writes. That file is not touched, and
// children neither get it nor start a viewer, whatever their settings say.
func TestViewerOfAnExternalRun(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{})
	file := filepath.Join(t.TempDir(), "not", "there.jsonl")
	cfg := producer.Config{
		Enabled: true, Endpoint: "http://" + c.GRPC, TraceJSONL: file, Viewer: producer.Viewer{Enabled: true, Binary: fakeViewer(t, "serve")},
	}
	w, r := startWorker(t, roleCommand(t, "worker", cfg))
	require.NotEmpty(t, r.Viewer, w.Log())
	assert.Contains(t, get(t, r.Viewer), "\n"+file+"\n")
	assert.NoDirExists(t, filepath.Dir(file))

	cmd := roleCommand(t, "worker", cfg)
	cmd.Env = append(cmd.Env, "RUNSPAN_CHILD=1")
	child, told := startWorker(t, cmd)
	assert.Empty(t, told.Viewer)
	child.end(t)
	w.end(t)
}

// A viewer that does not start, or ends, is said and fails nothing else.
func TestViewerFails(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { taken.Close() }) // after the parallel tests
	port := taken.Addr().(*net.TCPAddr).Port
	for _, tc := range []struct {
		name   string
		viewer producer.Viewer
		says   []string
	}{
		{"it is missing", producer.Viewer{Binary: "/nowhere/runspan"}, []string{"Viewer.Binary", "/nowhere/runspan"}},
		{"it fails", producer.Viewer{Binary: fakeViewer(t, "fail")}, []string{"did not start", "no pages are left"}},
		{"its port is taken", producer.Viewer{Port: port, Binary: fakeViewer(t, "serve")}, []string{"Viewer.Port", strconv.Itoa(port), "address already in use"}},
		{"it never listens", producer.Viewer{Binary: fakeViewer(t, "hang")}, []string{"was not ready within 5s"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cfg := localConfig(t)
			cfg.Viewer = tc.viewer
			cfg.Viewer.Enabled = true
			w, r := startWorker(t, roleCommand(t, "worker", cfg))
			assert.Empty(t, r.Error)
			assert.Empty(t, r.Viewer)
			assert.Equal(t, producer.ModeLocal, r.Mode)
			w.work(t, "taken")
			w.end(t)
			for _, says := range append(tc.says, "there is no viewer; spans are taken all the same") {
				assert.Contains(t, w.Log(), says)
			}
			assert.Len(t, harness.ReadTraceFile(t, r.File), 100)
		})
	}
}

// Whatever is in a folder's or a run's name is no variable or placeholder to the collector; and a span
// of an engine below the children that names no run is of this one.
func TestOddNamesAndSpansWithoutARun(t *testing.T) {
	cmd := execCommand(t, "--host", "127.0.0.1", "--output-dir", "a $HOME $$ ${env:HOME} 七", "--run-id", "run $1 七", "--",
		"env", "OTEL_RESOURCE_ATTRIBUTES=", os.Args[0])
	cmd.Env = append(cmd.Env, roleVariable+"=agent")
	cmd.Stdin = strings.NewReader(`{"Work": "anonymous"}` + "\n")
	code, _, log := runExec(t, cmd)
	require.Equal(t, 2, code, log)
	assert.Contains(t, log, "--output-dir", "braces are the collector's placeholders")

	cmd = execCommand(t, "--host", "127.0.0.1", "--output-dir", "a $HOME $$ 七", "--run-id", "run $1 七", "--",
		"env", "OTEL_RESOURCE_ATTRIBUTES=", os.Args[0])
	cmd.Env = append(cmd.Env, roleVariable+"=agent")
	cmd.Stdin = strings.NewReader(`{"Work": "anonymous"}` + "\n")
	code, _, log = runExec(t, cmd)
	require.Equal(t, 0, code, log)
	spans := harness.ReadTraceFile(t, filepath.Join(cmd.Dir, "a $HOME $$ 七", "run $1 七", "traces", "traces.jsonl"))
	require.Len(t, spans, 1)
	assert.Equal(t, "run $1 七", spans[0].Run)
}

// viewer is the program behind fakeViewer.
func viewer() error {
	switch os.Getenv("VIEWER") {
	case "fail":
		_, _ = os.Stderr.WriteString("no pages are left\n")
		os.Exit(2)
	case "hang":
		time.Sleep(time.Minute)
	}
	arguments := map[string]string{}
	for i := 2; i+1 < len(os.Args); i += 2 {
		arguments[os.Args[i]] = os.Args[i+1]
	}
	return http.ListenAndServe(net.JoinHostPort(arguments["--host"], arguments["--port"]), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(strings.Join(os.Args[1:], "\n")))
	}))
}
