package page

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// span is one span to send. Times are from the start of the test's data.
type span struct {
	trace, id, parent string // hex
	name              string
	start, took       time.Duration
	failed            bool
	attributes        []pair
	events            []any
	links             []any
}

// pair is an attribute: a key and a string, int, float64, bool, or a value of OTLP/JSON.
type pair struct {
	key   string
	value any
}

// sender is the resource of spans.
type sender struct {
	run, service, pod string
}

func (p pair) json() map[string]any {
	var value any
	switch v := p.value.(type) {
	case string:
		value = map[string]any{"stringValue": v}
	case int:
		value = map[string]any{"intValue": strconv.Itoa(v)}
	case float64:
		value = map[string]any{"doubleValue": v}
	case bool:
		value = map[string]any{"boolValue": v}
	default:
		value = v
	}
	return map[string]any{"key": p.key, "value": value}
}

func attributes(pairs []pair) []any {
	all := make([]any, 0, len(pairs))
	for _, p := range pairs {
		all = append(all, p.json())
	}
	return all
}

// otlp is a request of OTLP/JSON, on one line. The spans' times count from zero.
func otlp(t *testing.T, from sender, zero time.Time, spans ...span) []byte {
	t.Helper()
	list := make([]any, 0, len(spans))
	for _, s := range spans {
		start := zero.Add(s.start)
		one := map[string]any{
			"traceId": s.trace, "spanId": s.id, "parentSpanId": s.parent, "name": s.name, "kind": 1,
			"startTimeUnixNano": strconv.FormatInt(start.UnixNano(), 10),
			"endTimeUnixNano":   strconv.FormatInt(start.Add(s.took).UnixNano(), 10),
			"attributes":        attributes(s.attributes), "events": s.events, "links": s.links,
		}
		if s.failed {
			one["status"] = map[string]any{"code": 2, "message": "<b>out of memory</b>"}
		}
		list = append(list, one)
	}
	resource := []pair{{"service.name", from.service}, {"k8s.pod.name", from.pod}}
	if from.run != "" {
		resource = append(resource, pair{"run.id", from.run})
	}
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	require.NoError(t, encoder.Encode(map[string]any{"resourceSpans": []any{map[string]any{
		"resource":   map[string]any{"attributes": attributes(resource)},
		"scopeSpans": []any{map[string]any{"scope": map[string]any{"name": "page.test", "version": "1"}, "spans": list}},
	}}}))
	return line.Bytes()
}

// send posts a request to the OTLP/HTTP receiver at host:port.
func send(t *testing.T, address string, request []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/v1/traces", bytes.NewReader(request))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
}

// traceFile writes lines as a trace file and returns its path.
func traceFile(t *testing.T, lines ...[]byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	require.NoError(t, os.WriteFile(path, bytes.Join(lines, nil), 0o644))
	return path
}

// hexID is an id of n bytes.
func hexID(n, bytes int) string {
	id := strconv.FormatInt(int64(n), 16)
	for len(id) < 2*bytes {
		id = "0" + id
	}
	return id
}

func traceID(n int) string { return "7e57" + hexID(n, 14) }
func spanID(n int) string  { return "a1" + hexID(n, 7) }
