package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
	"testing"
)

// Span is what the tests compare: who it is and where it belongs.
type Span struct {
	TraceID string `json:"trace_id"`
	SpanID  string `json:"span_id"`
	Parent  string `json:"parent"`
	Name    string `json:"name"`
	Service string `json:"service"`
	Run     string `json:"run"`
}

// Key identifies a span within the runs of one test.
func (s Span) Key() string { return s.TraceID + "/" + s.SpanID }

// otlpLine is one line of a trace file. Unknown fields are allowed, as the OTLP specification asks.
type otlpLine struct {
	ResourceSpans []struct {
		Resource   struct{ Attributes []keyValue }
		ScopeSpans []struct {
			Spans []struct {
				TraceID      string `json:"traceId"`
				SpanID       string `json:"spanId"`
				ParentSpanID string `json:"parentSpanId"`
				Name         string
				Attributes   []keyValue
			}
		}
	}
}

type keyValue struct {
	Key   string
	Value struct {
		StringValue *string
	}
}

// ReadTraceFile reads a trace file as a strict reader does and returns its spans, in their order.
// It fails the test for a line that is not one JSON object with resourceSpans, for bytes after the
// last newline, and for a span whose `run.id` or `service.name` differs from its resource's.
func ReadTraceFile(t *testing.T, path string) []Span {
	t.Helper()
	return readTraceFile(t, path, true)
}

// ReadUntaggedTraceFile is ReadTraceFile for a collector without run_id: `run.id` and
// `service.name` are on resources only.
func ReadUntaggedTraceFile(t *testing.T, path string) []Span {
	t.Helper()
	return readTraceFile(t, path, false)
}

func readTraceFile(t *testing.T, path string, tagged bool) []Span {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var spans []Span
	for n := 1; len(data) > 0; n++ {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		if !whole {
			t.Fatalf("%s: %d bytes after the last newline: %.200q", path, len(line), line)
		}
		got, err := parseLine(line, tagged)
		if err != nil {
			t.Fatalf("%s: line %d: %v: %.200q", path, n, err, line)
		}
		spans = append(spans, got...)
		data = rest
	}
	return spans
}

func parseLine(line []byte, tagged bool) ([]Span, error) {
	var l otlpLine
	dec := json.NewDecoder(bytes.NewReader(line))
	if err := dec.Decode(&l); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	if l.ResourceSpans == nil {
		return nil, errors.New("no resourceSpans")
	}
	var spans []Span
	for _, rs := range l.ResourceSpans {
		service, run := stringValue(rs.Resource.Attributes, "service.name"), stringValue(rs.Resource.Attributes, "run.id")
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				span := Span{s.TraceID, s.SpanID, s.ParentSpanID, s.Name, service, run}
				if got := stringValue(s.Attributes, "service.name"); tagged && got != service {
					return nil, fmt.Errorf("span %s: service.name is %q, its resource's %q", s.SpanID, got, service)
				}
				if got := stringValue(s.Attributes, "run.id"); tagged && got != run {
					return nil, fmt.Errorf("span %s: run.id is %q, its resource's %q", s.SpanID, got, run)
				}
				spans = append(spans, span)
			}
		}
	}
	return spans, nil
}

func stringValue(attrs []keyValue, key string) string {
	for _, kv := range attrs {
		if kv.Key == key && kv.Value.StringValue != nil {
			return *kv.Value.StringValue
		}
	}
	return ""
}

// RequireSameSpans fails the test unless got holds every span of want exactly once and no other.
func RequireSameSpans(t *testing.T, want, got []Span) {
	t.Helper()
	missing, extra := diff(want, got)
	if len(missing)+len(extra) == 0 {
		return
	}
	t.Fatalf("%d spans wanted, %d found; %d missing:\n%s\n%d that should not be there (unknown, twice or changed):\n%s",
		len(want), len(got), len(missing), list(missing), len(extra), list(extra))
}

// diff returns what is in want but not in got, and the other way round, as multisets.
func diff(want, got []Span) (missing, extra []Span) {
	count := map[Span]int{}
	for _, s := range want {
		count[s]++
	}
	for _, s := range got {
		count[s]--
	}
	for s, n := range count {
		for ; n > 0; n-- {
			missing = append(missing, s)
		}
		for ; n < 0; n++ {
			extra = append(extra, s)
		}
	}
	return missing, extra
}

func list(spans []Span) string {
	const most = 10
	sort.Slice(spans, func(i, j int) bool { return spans[i].Key() < spans[j].Key() })
	var b strings.Builder
	for i, s := range spans {
		if i == most {
			fmt.Fprintf(&b, "  and %d more\n", len(spans)-most)
			break
		}
		fmt.Fprintf(&b, "  %+v\n", s)
	}
	return b.String()
}

// OfRun returns the spans of one run.
func OfRun(spans []Span, run string) []Span {
	var of []Span
	for _, s := range spans {
		if s.Run == run {
			of = append(of, s)
		}
	}
	return of
}
