package view

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

// patience is how long anything may take that happens by itself.
const patience = 20 * time.Second

// shown is what a viewer shows of a run.
type shown struct {
	State, Reason string
	Spans         int64
	Missing       struct{ Duplicates, Orphans, Joined int64 }
	Partial       *struct{ Reason string }
}

// viewer is an address where a viewer listens.
type viewer string

// get returns the status and body of an answer.
func (v viewer) get(t *testing.T, target string, headers ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+string(v)+target, http.NoBody)
	require.NoError(t, err)
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body)
}

// run returns what is shown of a run; every request must have its answer.
func (v viewer) run(t *testing.T, id string) shown {
	t.Helper()
	status, body := v.get(t, "/api/run?run="+url.QueryEscape(id))
	if status == http.StatusNotFound {
		return shown{State: "ready"}
	}
	require.Equal(t, http.StatusOK, status, body)
	var s shown
	require.NoError(t, json.Unmarshal([]byte(body), &s))
	return s
}

// waitSpans waits until exactly so many spans of a run are shown.
func (v viewer) waitSpans(t *testing.T, id string, n int64) {
	t.Helper()
	harness.WaitFor(t, patience, fmt.Sprintf("%d spans of %s", n, id), func() error {
		if got := v.run(t, id); got.Spans != n || got.State != "ready" {
			return fmt.Errorf("it has %+v", got)
		}
		return nil
	})
}

// startView starts `runspan view` on a free port and returns where it listens.
func startView(t *testing.T, args ...string) (*harness.Process, viewer) {
	t.Helper()
	address := harness.FreePorts(t, 1)[0]
	_, port, _ := strings.Cut(address, ":")
	cmd := exec.Command(harness.CommandLine(t), append([]string{"view", "--port", port, "--cache", ""}, args...)...)
	p := harness.Start(t, cmd)
	harness.WaitFor(t, patience, "the viewer to answer", func() error {
		select {
		case <-p.Ended():
			t.Fatalf("it ended: %s", p.Log())
		default:
		}
		resp, err := http.Get("http://" + address + "/api/health")
		if err == nil {
			err = resp.Body.Close()
		}
		return err
	})
	return p, viewer(address)
}

// line is a line of a trace file with spans of a run, each of a trace of its own.
func line(run string, ids ...int) string {
	var spans []string
	for _, id := range ids {
		start := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC).UnixNano() + int64(id)
		spans = append(spans, fmt.Sprintf(`{"traceId":"%032x","spanId":"%016x","name":"step","startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[%s]}`,
			id, id, start, start+1e6, attribute("text", `<img src=x onerror=alert(1)>`)))
	}
	return fmt.Sprintf(`{"resourceSpans":[{"resource":{"attributes":[%s,%s]},"scopeSpans":[{"spans":[%s]}]}]}`,
		attribute("service.name", "trainer"), attribute("run.id", run), strings.Join(spans, ","))
}

func attribute(key, value string) string {
	return fmt.Sprintf(`{"key":%q,"value":{"stringValue":%q}}`, key, value)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
}

func appendTo(t *testing.T, file, text string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(text)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}
