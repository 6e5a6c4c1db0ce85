package commands

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

// requests are what the clients of the fixture send, one after another: two runs, one of them with a
// name that is none for a file, two of them in one request, and a span without a run.
var requests = []string{
	request(resource("driver", "run-1", span(1, "step 1", 0), span(2, "step 2", 2))),
	request(resource("engine", "run-1", span(3, "generate", 1)), resource("engine", "训练/七", span(4, "generate", 1))),
	request(resource("gateway", "", span(5, "forward", 0))),
	request(resource("driver", "训练/七", span(6, "step 1", 0))),
}

func request(resources ...string) string {
	return `{"resourceSpans":[` + strings.Join(resources, ",") + `]}`
}

func resource(service, run string, spans ...string) string {
	attributes := attribute("service.name", service)
	if run != "" {
		attributes += "," + attribute("run.id", run)
	}
	return fmt.Sprintf(`{"resource":{"attributes":[%s]},"scopeSpans":[{"spans":[%s]}]}`, attributes, strings.Join(spans, ","))
}

func attribute(key, value string) string {
	return fmt.Sprintf(`{"key":%q,"value":{"stringValue":%q}}`, key, value)
}

// span is a span with its own trace, of a second, with this status.
func span(n int, name string, status int) string {
	start := time.Date(2026, 12, 1, 9, 0, n, 0, time.UTC).UnixNano()
	return fmt.Sprintf(`{"traceId":"%032x","spanId":"%016x","name":%q,"startTimeUnixNano":"%d","endTimeUnixNano":"%d","status":{"code":%d}}`,
		n, n, name, start, start+1e9, status)
}

// post sends a request to a collector and requires that it is accepted.
func post(t *testing.T, c *harness.Collector, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+c.HTTP+"/v1/traces", strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s", text)
}

// written is the file that a real collector wrote of the requests. It is made once.
var written []byte

// fixture returns a folder with data/traces.jsonl, which a real collector wrote.
func fixture(t *testing.T) *transcript {
	t.Helper()
	dir := t.TempDir()
	if written == nil {
		c := harness.StartCollector(t, harness.CollectorSettings{})
		for _, body := range requests {
			post(t, c, body)
		}
		c.Kill() // what was accepted is in the file
		var err error
		written, err = os.ReadFile(c.TraceFile())
		require.NoError(t, err)
		require.Equal(t, len(requests), bytes.Count(written, []byte("\n")))
	}
	write(t, dir, "data/traces.jsonl", written)
	return &transcript{dir: dir}
}

// write makes a file below a folder.
func write(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, data, 0o600))
}

// damaged is what a crash, a careless copy and a strange writer could make of the fixture: an empty
// line, a torn line with a whole one behind it, two lines on one, bytes that are not UTF-8, a line of
// another signal, a line twice, spans without a run, and a torn end.
func damaged() []byte {
	lines := bytes.SplitAfter(written, []byte("\n"))
	return bytes.Join([][]byte{
		lines[0],
		[]byte("\n"),
		lines[1][:100], lines[1],
		lines[2][:len(lines[2])-1], lines[3],
		bytes.Replace(lines[0], []byte("step 1"), []byte("step \xff"), 1),
		[]byte(`{"resourceMetrics":[]}` + "\n"),
		lines[0],
		[]byte(request(resource("gateway", "", span(7, "forward", 0)), resource("gateway", " ", span(8, "forward", 0))) + "\n"),
		[]byte(request(resource("gateway", "run-1", strings.Replace(span(9, "no span id", 0), fmt.Sprintf(`"spanId":"%016x"`, 9), `"spanId":""`, 1))) + "\n"),
		[]byte(request(resource("gateway", "run-1", strings.Replace(span(9, "odd id", 0), `"spanId":"`, `"spanId":"00`, 1))) + "\n"),
		[]byte(request(resource("gateway", "run-1", span(10, "good", 0), strings.Replace(span(11, "odd id", 0), `"spanId":"`, `"spanId":"00`, 1))) + "\n"),
		[]byte(strings.Replace(request(resource("gateway", "run-1", span(12, "new", 0)), resource("gateway", "run-2", span(13, "new", 0))), `{`, `{"new":1,`, 1) + "\n"),
		lines[3][:50],
	}, nil)
}
