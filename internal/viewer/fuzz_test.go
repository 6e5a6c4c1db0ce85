package viewer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// recorded warns of nothing: a panic within a request is one warning.
type recorded struct {
	mu    sync.Mutex
	texts []string
}

func (r *recorded) add(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.texts = append(r.texts, text)
}

func (r *recorded) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	texts := r.texts
	r.texts = nil
	return texts
}

// requireAnswer requires that a request has a whole answer with an expected status, and that what the
// API answers is JSON.
func requireAnswer(t *testing.T, v *Viewer, r *http.Request, warned *recorded) {
	t.Helper()
	w := httptest.NewRecorder()
	v.ServeHTTP(w, r)
	require.Empty(t, warned.take())
	require.Contains(t, []int{
		http.StatusOK, http.StatusNotModified, http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed,
	}, w.Code)
	require.NotEmpty(t, w.Header().Get("Content-Security-Policy"))
	if w.Header().Get("Content-Type") == "application/json" && w.Header().Get("Content-Encoding") == "" && r.Method != http.MethodHead {
		var body map[string]any
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
		if w.Code >= 400 {
			require.NotEmpty(t, body["error"])
			require.NotEmpty(t, body["reason"])
		}
	}
}

// FuzzRequest sends any bytes that net/http takes for a request.
func FuzzRequest(f *testing.F) {
	warned := &recorded{}
	v := start(f, func(o *Options) { o.Warn = warned.add }, testFile)
	ready(f, v)
	for _, target := range goldenRequests {
		f.Add([]byte("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n"))
	}
	f.Add([]byte("POST / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://x\r\nContent-Length: 1\r\n\r\nx"))
	f.Add([]byte("OPTIONS * HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip;q=\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(data)))
		if err != nil {
			return // net/http itself answers 400
		}
		requireAnswer(t, v, r, warned)
	})
}

// FuzzParameters asks each path of the API with any values.
func FuzzParameters(f *testing.F) {
	warned := &recorded{}
	v := start(f, func(o *Options) { o.Warn = warned.add }, testFile)
	ready(f, v)
	paths := []string{"runs", "run", "stages", "traces", "trace", "span", "missing", "health"}
	for i := range paths {
		f.Add(uint8(i), testRun, testTrace, "0000000000000002", "trainer", "-last", "q", "10", "AAAA", "1.5")
	}
	f.Fuzz(func(t *testing.T, path uint8, run, trace, span, service, sort, text, limit, page, ms string) {
		values := url.Values{}
		of := map[string]string{
			"run": run, "trace": trace, "service": service, "sort": sort, "q": text, "limit": limit, "page": page,
			"min_ms": ms, "max_ms": ms, "errors": "true", "cursor": page,
		}
		name := paths[int(path)%len(paths)]
		of["id"] = trace
		if name == "span" {
			of["id"] = span
		}
		for _, parameter := range endpoints["/"+name].params {
			if of[parameter] != "" {
				values.Set(parameter, of[parameter])
			}
		}
		r := httptest.NewRequest(http.MethodGet, "/api/"+name, http.NoBody)
		r.URL.RawQuery = values.Encode()
		r.Host = "localhost"
		requireAnswer(t, v, r, warned)
	})
}

// FuzzFile shows any bytes as a file, and asks everything of the runs that are in it.
func FuzzFile(f *testing.F) {
	good, err := os.ReadFile(testFile)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	for line := range bytes.Lines(good) {
		f.Add(line)
	}
	f.Add([]byte(`{"resourceSpans":[{"resource":{"attributes":[{"key":"run.id","value":{"stringValue":"r"}}]},"scopeSpans":[{"spans":[` +
		`{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"0000000000000001","parentSpanId":"0000000000000001","startTimeUnixNano":"18446744073709551615","endTimeUnixNano":"1","kind":99},` +
		`{"name":"no ids","startTimeUnixNano":"0","endTimeUnixNano":"9223372036854775807"}]}]}]}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(t.TempDir(), "traces.jsonl")
		require.NoError(t, os.WriteFile(file, data, 0o600))
		warned := &recorded{}
		v := start(t, func(o *Options) { o.Warn = warned.add }, file)
		w := get(v, "/api/runs")
		for range 100 {
			if !strings.Contains(w.Body.String(), `"state":"reading"`) {
				break
			}
			w = get(v, "/api/runs")
		}
		var list struct {
			Runs []struct {
				RunID string `json:"run_id"`
			}
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &list))
		for _, run := range list.Runs {
			for _, path := range []string{"run", "stages", "missing", "traces"} {
				r := httptest.NewRequest(http.MethodGet, query("/api/"+path, "run", run.RunID), http.NoBody)
				r.Host = "localhost"
				requireAnswer(t, v, r, warned)
			}
			var traces struct {
				Traces []struct {
					TraceID string `json:"trace_id"`
				}
			}
			require.NoError(t, json.Unmarshal(get(v, query("/api/traces", "run", run.RunID, "q", "a")).Body.Bytes(), &traces))
			require.NoError(t, json.Unmarshal(get(v, query("/api/traces", "run", run.RunID)).Body.Bytes(), &traces))
			for _, trace := range traces.Traces {
				r := httptest.NewRequest(http.MethodGet, query("/api/trace", "run", run.RunID, "id", trace.TraceID), http.NoBody)
				r.Host = "localhost"
				requireAnswer(t, v, r, warned)
			}
		}
	})
}
