package viewer

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/internal/runindex"
)

var update = flag.Bool("update", false, "write the golden bodies anew")

const (
	testRun   = "20261201-101500-4242-9f8e7d6c"
	testTrace = "0af7651916cd43dd8448eb211c80319c"
)

// start returns a viewer of files that is kept up to date until the test ends.
func start(tb testing.TB, change func(*Options), files ...string) *Viewer {
	tb.Helper()
	catalogue, err := runindex.Open(runindex.Options{Files: files, Poll: 10 * time.Millisecond})
	require.NoError(tb, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		catalogue.Run(ctx)
	}()
	tb.Cleanup(func() {
		cancel()
		<-ended
		assert.NoError(tb, catalogue.Close())
	})
	opts := Options{Catalogue: catalogue, Version: "test"}
	if change != nil {
		change(&opts)
	}
	v, err := New(opts)
	require.NoError(tb, err)
	return v
}

// ready returns when all of the files is read.
func ready(tb testing.TB, v *Viewer) {
	tb.Helper()
	require.Eventually(tb, func() bool {
		s := v.opts.Catalogue.Snapshot()
		return s.State == runindex.StateReady && s.Read == s.Total && s.Total > 0
	}, 10*time.Second, time.Millisecond)
}

// get asks a viewer as a browser at its own page does.
func get(v http.Handler, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:18318"+target, http.NoBody)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	v.ServeHTTP(w, r)
	return w
}

func query(path string, params ...string) string {
	values := url.Values{}
	for i := 0; i+1 < len(params); i += 2 {
		values.Set(params[i], params[i+1])
	}
	return path + "?" + values.Encode()
}

var goldenRequests = map[string]string{
	"runs":                query("/api/runs"),
	"runs_page":           query("/api/runs", "limit", "1", "sort", "run_id"),
	"runs_service":        query("/api/runs", "service", "engine"),
	"runs_text":           query("/api/runs", "q", "GATE"),
	"run":                 query("/api/run", "run", testRun),
	"run_slash":           query("/api/run", "run", "team/an & other"),
	"run_service":         query("/api/run", "run", testRun, "service", "engine"),
	"stages":              query("/api/stages", "run", testRun),
	"stages_page":         query("/api/stages", "run", testRun, "limit", "1", "sort", "-count"),
	"traces":              query("/api/traces", "run", testRun),
	"traces_errors":       query("/api/traces", "run", testRun, "errors", "true"),
	"traces_duration":     query("/api/traces", "run", testRun, "min_ms", "2000", "max_ms", "7500.0"),
	"traces_text":         query("/api/traces", "run", testRun, "q", "<SCRIPT>"),
	"traces_none":         query("/api/traces", "run", testRun, "q", "nothing has this"),
	"trace":               query("/api/trace", "run", testRun, "id", testTrace),
	"trace_service":       query("/api/trace", "run", testRun, "id", testTrace, "service", "engine"),
	"trace_orphan":        query("/api/trace", "run", testRun, "id", strings.Repeat("0", 31)+"2"),
	"span":                query("/api/span", "run", testRun, "trace", testTrace, "id", "0000000000000002"),
	"span_twice":          query("/api/span", "run", testRun, "trace", testTrace, "id", "0000000000000004"),
	"missing":             query("/api/missing"),
	"missing_run":         query("/api/missing", "run", testRun),
	"error_no_such_run":   query("/api/run", "run", "none"),
	"error_no_such_trace": query("/api/trace", "run", testRun, "id", strings.Repeat("f", 32)),
	"error_no_such_span":  query("/api/span", "run", testRun, "trace", testTrace, "id", strings.Repeat("f", 16)),
	"error_no_such_path":  "/api/nothing",
	"error_missing":       "/api/run",
	"error_unknown":       query("/api/runs", "sorted", "last"),
	"error_sort":          query("/api/stages", "run", testRun, "sort", "colour"),
	"error_limit":         query("/api/runs", "limit", "1001"),
	"error_page":          query("/api/runs", "page", "!"),
	"error_id":            query("/api/trace", "run", testRun, "id", "xyz"),
	"error_encoding":      "/api/run?run=%zz",
	"error_twice":         "/api/run?run=a&run=b",
}

var cursorInBody = regexp.MustCompile(`"cursor": "[0-9a-f]+\.[0-9a-f]+"`)

// Each request has the answer of its file, and a cursor for which an unchanged one is a few bytes.
func TestGoldenBodies(t *testing.T) {
	v := start(t, func(o *Options) { o.JaegerURL = "http://127.0.0.1:16686/" }, filepath.Join("testdata", "traces.jsonl"))
	ready(t, v)
	for name, target := range goldenRequests {
		t.Run(name, func(t *testing.T) {
			w := get(v, target)
			assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
			var indented bytes.Buffer
			require.NoError(t, json.Indent(&indented, w.Body.Bytes(), "", "  "))
			body := cursorInBody.ReplaceAllString(indented.String(), `"cursor": "CURSOR"`) + "\n"
			file := filepath.Join("testdata", "golden", name+".json")
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(body), 0o600))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, string(want), body)

			var answer struct{ Cursor, Error string }
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
			if strings.HasPrefix(name, "error_") {
				assert.GreaterOrEqual(t, w.Code, 400)
				assert.NotEmpty(t, answer.Error)
				return
			}
			assert.Equal(t, http.StatusOK, w.Code)
			u, err := url.Parse(target)
			require.NoError(t, err)
			params := u.Query()
			params.Set("cursor", answer.Cursor)
			w = get(v, u.Path+"?"+params.Encode())
			assert.JSONEq(t, `{"unchanged":true,"cursor":"`+answer.Cursor+`"}`, w.Body.String())
			params.Set("service", "gateway") // another request
			if u.Query().Get("service") == "" && u.Path != "/api/trace" && u.Path != "/api/span" {
				assert.NotContains(t, get(v, u.Path+"?"+params.Encode()).Body.String(), `"unchanged"`)
			}
		})
	}
}

// Every field of an answer stands in docs/api.md.
func TestDocsNameEveryField(t *testing.T) {
	docs, err := os.ReadFile(filepath.Join("..", "..", "docs", "api.md"))
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var body any
		require.NoError(t, json.Unmarshal(text, &body))
		eachKey(body, func(key string) {
			assert.True(t, bytes.Contains(docs, []byte(`"`+key+`"`)) || bytes.Contains(docs, []byte("`"+key+"`")), "%s: %s", file, key)
		})
	}
}

func eachKey(value any, each func(string)) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			each(key)
			if key != "span" && key != "resource" && key != "scope" { // OTLP/JSON
				eachKey(inner, each)
			}
		}
	case []any:
		for _, inner := range value {
			eachKey(inner, each)
		}
	}
}

// Before there is a file every request has an answer, and the first span shows up by itself.
func TestWaitingForAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "traces.jsonl")
	v := start(t, nil, file)
	require.Eventually(t, func() bool { return v.opts.Catalogue.Snapshot().State == runindex.StateWaiting }, 5*time.Second, time.Millisecond)
	for name, target := range goldenRequests {
		if strings.HasPrefix(name, "error_") {
			continue
		}
		w := get(v, target)
		assert.Equal(t, http.StatusOK, w.Code, name)
		var answer struct{ State, Reason string }
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
		assert.Equal(t, "waiting", answer.State, name)
		assert.Contains(t, answer.Reason, file, name)
	}
	text, err := os.ReadFile(filepath.Join("testdata", "traces.jsonl"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, text, 0o600))
	require.Eventually(t, func() bool {
		return strings.Contains(get(v, "/api/runs").Body.String(), testRun)
	}, 5*time.Second, 10*time.Millisecond)
}

func TestHealth(t *testing.T) {
	v := start(t, nil, filepath.Join("testdata", "traces.jsonl"))
	ready(t, v)
	get(v, query("/api/run", "run", testRun))
	var health struct {
		Status, Version, State string
		Runs                   int
		OpenedRuns             int   `json:"opened_runs"`
		MemoryBytes            int64 `json:"memory_bytes"`
		MaxMemoryBytes         int64 `json:"max_memory_bytes"`
	}
	require.NoError(t, json.Unmarshal(get(v, "/api/health").Body.Bytes(), &health))
	assert.Equal(t, "ok", health.Status)
	assert.Equal(t, "test", health.Version)
	assert.Equal(t, 2, health.Runs)
	assert.Equal(t, 1, health.OpenedRuns)
	assert.Positive(t, health.MemoryBytes)
	assert.Equal(t, int64(runindex.DefaultMaxMemory), health.MaxMemoryBytes)
}
