package view

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

// One viewer through all that happens to a file.
func TestFileComesGrowsAndIsReplaced(t *testing.T) {
	file := filepath.Join(t.TempDir(), "traces.jsonl")
	p, v := startView(t, "--trace-jsonl", file)
	for _, path := range []string{"/api/runs", "/api/run?run=a", "/api/stages?run=a", "/api/traces?run=a", "/api/missing", "/api/missing?run=a"} {
		harness.WaitFor(t, patience, "an answer that says what it waits for", func() error {
			status, body := v.get(t, path)
			require.Equal(t, http.StatusOK, status, body)
			if !strings.Contains(body, `"waiting"`) || !strings.Contains(body, file) {
				return errorText(body)
			}
			return nil
		})
	}
	harness.WaitFor(t, patience, "the terminal to say what it waits for", func() error {
		if !strings.Contains(p.Log(), "waiting for") {
			return errorText(p.Log())
		}
		return nil
	})

	write(t, file, line("a", 1, 2)+"\n")
	v.waitSpans(t, "a", 2)
	appendTo(t, file, line("a", 3)+"\n"+line("b/ü", 4)+"\n")
	v.waitSpans(t, "a", 3)
	v.waitSpans(t, "b/ü", 1)

	torn := line("a", 5)
	appendTo(t, file, torn[:50])
	time.Sleep(time.Second) // some looks at half a line
	assert.Equal(t, int64(3), v.run(t, "a").Spans)
	appendTo(t, file, torn[50:]+"\n")
	v.waitSpans(t, "a", 4)

	appendTo(t, file, "no JSON\n"+line("a", 6)+"\n")
	v.waitSpans(t, "a", 5)
	harness.WaitFor(t, patience, "the bad line to be listed", func() error {
		_, body := v.get(t, "/api/missing")
		if !strings.Contains(body, `"bad_lines":{"count":1`) {
			return errorText(body)
		}
		return nil
	})

	appendTo(t, file, line("a", 6)+"\n") // once more
	harness.WaitFor(t, patience, "the duplicate to be counted", func() error {
		if got := v.run(t, "a"); got.Missing.Duplicates != 1 || got.Spans != 5 {
			return errorText("not yet")
		}
		return nil
	})

	require.NoError(t, os.Truncate(file, 0))
	appendTo(t, file, line("c", 7)+"\n")
	v.waitSpans(t, "c", 1)
	v.waitSpans(t, "a", 0)

	other := file + ".new"
	write(t, other, line("d", 8, 9)+"\n")
	require.NoError(t, os.Rename(other, file))
	v.waitSpans(t, "d", 2)
	v.waitSpans(t, "c", 0)

	require.NoError(t, os.Remove(file))
	harness.WaitFor(t, patience, "the run to be gone with its file", func() error {
		if got := v.run(t, "d"); got.Spans != 0 {
			return errorText("it is still there")
		}
		return nil
	})
}

// The options of XTuner's viewer, one address on the standard output, and an end with SIGTERM.
func TestOptionsOfXTuner(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "traces.jsonl"), line("run/1 ä", 1)+"\n")
	out := filepath.Join(dir, "out")
	stdout, err := os.Create(out)
	require.NoError(t, err)
	defer stdout.Close()
	cmd := exec.Command(harness.CommandLine(t), "view", "--trace-jsonl", filepath.Join(dir, "traces.jsonl"), "--service", "trainer",
		"--run-id", "run/1 ä", "--host", "127.0.0.1", "--port", "0", "--jaeger-query-url", "http://127.0.0.1:16686", "--cache", filepath.Join(dir, "cache"))
	cmd.Stdout = stdout
	p := harness.Start(t, cmd)
	var address string
	harness.WaitFor(t, patience, "the address", func() error {
		text, err := os.ReadFile(out)
		require.NoError(t, err)
		if !strings.HasSuffix(string(text), "\n") {
			return errorText("none yet")
		}
		address = strings.TrimSpace(string(text))
		return nil
	})
	assert.Regexp(t, `^http://127\.0\.0\.1:\d+/run\?run=run%2F1\+%C3%A4&service=trainer$`, address)
	host, page, _ := strings.Cut(strings.TrimPrefix(address, "http://"), "/")
	v := viewer(host)
	status, body := v.get(t, "/"+page)
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, body, "<html")
	v.waitSpans(t, "run/1 ä", 1)
	_, body = v.get(t, "/api/trace?run=run%2F1+%C3%A4&id="+strings.Repeat("0", 31)+"1")
	assert.Contains(t, body, `"jaeger_url":"http://127.0.0.1:16686/trace/0000`)

	status, body = v.get(t, "/api/runs", "Host", "evil.example")
	assert.Equal(t, http.StatusForbidden, status, body)

	begin := time.Now()
	assert.Equal(t, 0, p.Stop(patience), p.Log())
	assert.Less(t, time.Since(begin), 5*time.Second)
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(string(text), "\n"), "one line: %s", text)
}

func TestSeveralFilesAndPatterns(t *testing.T) {
	dir := t.TempDir()
	for _, run := range []string{"a", "b"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, run), 0o755))
		write(t, filepath.Join(dir, run, "traces.jsonl"), line(run, 1)+"\n")
	}
	write(t, filepath.Join(dir, "c.jsonl"), line("c", 1)+"\n")
	write(t, filepath.Join(dir, "c-20261201T090000Z-1.jsonl"), line("c", 2)+"\n") // a segment of it
	_, v := startView(t, "--trace-jsonl", filepath.Join(dir, "*", "traces.jsonl"), "--trace-jsonl", filepath.Join(dir, "c.jsonl"))
	for run, spans := range map[string]int64{"a": 1, "b": 1, "c": 2} {
		v.waitSpans(t, run, spans)
	}
}

func TestViewSaysWhatIsWrong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "traces.jsonl")
	_, taken := startView(t, "--trace-jsonl", file)
	_, port, _ := strings.Cut(string(taken), ":")
	for _, tc := range []struct {
		args []string
		want string
	}{
		{nil, "--trace-jsonl"},
		{[]string{"--trace-jsonl", file, "--port", port}, "--port"},
		{[]string{"--trace-jsonl", file, "--port", "0", "--allowed-hosts", "http://x"}, "http://x"},
		{[]string{"--trace-jsonl", file, "--port", "0", "--jaeger-query-url", "javascript:alert(1)"}, "javascript"},
		{[]string{"--trace-jsonl", file, "--port", "0", "--host", "999.1.1.1"}, "999.1.1.1"},
	} {
		p := harness.Start(t, exec.Command(harness.CommandLine(t), append([]string{"view"}, tc.args...)...))
		assert.Equal(t, 2, p.Wait(patience), "%v", tc.args)
		assert.Contains(t, p.Log(), tc.want)
	}
}

func TestViewInJSON(t *testing.T) {
	address := harness.FreePorts(t, 1)[0]
	_, port, _ := strings.Cut(address, ":")
	p := harness.Start(t, exec.Command(harness.CommandLine(t), "view", "--json", "--trace-jsonl", filepath.Join(t.TempDir(), "t.jsonl"), "--port", port, "--cache", ""))
	harness.WaitFor(t, patience, "the address", func() error {
		object, _, _ := strings.Cut(p.Log(), "}")
		var started struct{ URL string }
		if err := json.Unmarshal([]byte(object+"}"), &started); err != nil {
			return err
		}
		assert.Equal(t, "http://"+address+"/", started.URL)
		return nil
	})
}

type errorText string

func (e errorText) Error() string { return string(e) }
