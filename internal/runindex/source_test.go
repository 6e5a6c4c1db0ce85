package runindex

import (
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/runspan/runspan/internal/tracefile"
)

// testSpan is a span in short: times are ms, ids small numbers.
type testSpan struct {
	run, service, pod  string
	trace, id, parent  int
	name               string
	start, took        int64
	failed             bool
	message, attribute string
}

func lineOf(spans ...testSpan) string {
	td := ptrace.NewTraces()
	for _, s := range spans {
		rs := td.ResourceSpans().AppendEmpty()
		attrs := rs.Resource().Attributes()
		for key, value := range map[string]string{"run.id": s.run, "service.name": s.service, "k8s.pod.name": s.pod} {
			if value != "" {
				attrs.PutStr(key, value)
			}
		}
		ss := rs.ScopeSpans().AppendEmpty()
		ss.Scope().SetName("test")
		span := ss.Spans().AppendEmpty()
		span.SetTraceID(traceID(s.trace))
		span.SetSpanID(spanIDBytes(uint64(s.id)))
		span.SetParentSpanID(spanIDBytes(uint64(s.parent)))
		span.SetName(s.name)
		span.SetKind(ptrace.SpanKindInternal)
		span.SetStartTimestamp(at(s.start))
		span.SetEndTimestamp(at(s.start + s.took))
		span.Status().SetMessage(s.message)
		if s.failed {
			span.Status().SetCode(ptrace.StatusCodeError)
		}
		if s.attribute != "" {
			span.Attributes().PutStr("text", s.attribute)
		}
	}
	return string(tracefile.AppendTraces(nil, td))
}

func traceID(n int) (id [16]byte) {
	_, _ = hex.Decode(id[:], fmt.Appendf(nil, "%032x", n))
	return id
}

const epoch = 1_800_000_000_000 // ms

func at(ms int64) pcommon.Timestamp { return pcommon.Timestamp((epoch + ms) * 1_000_000) }

// memory is a Source of lines in memory.
type memory struct {
	mu      sync.Mutex
	lines   []string
	of      int // grows when the lines are replaced
	version uint64
	reads   int // of lines
	delay   time.Duration
	fault   error     // of reading
	refs    []LineRef // where they are set, they are the lines of every run, as they are
}

func (m *memory) append(lines ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lines = append(m.lines, lines...)
	m.version++
}

func (m *memory) replace(lines ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lines, m.of = lines, m.of+1
	m.version++
}

func (m *memory) spans(each func(line int, s *tracefile.RunSpan)) {
	var d tracefile.Decoder
	for i, line := range m.lines {
		td := ptrace.NewTraces()
		_, _ = d.Append(td.ResourceSpans(), []byte(line))
		for s := range tracefile.SpansOf(td) {
			each(i, &s)
		}
	}
}

func (m *memory) Snapshot() *Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &Snapshot{Version: m.version, State: StateReady}
	if m.refs != nil {
		return s
	}
	m.spans(func(_ int, span *tracefile.RunSpan) {
		info := s.Run(span.Run)
		if info == nil {
			info = &RunInfo{ID: span.Run, Version: m.version, Changed: time.Now()}
			s.Runs = append(s.Runs, info)
		}
		info.Spans++
	})
	return s
}

func (m *memory) Lines(run string, after Mark) (lines []LineRef, mark Mark, reset bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	mark = Mark{Of: m.of, N: len(m.lines)}
	if m.refs != nil && run != "" {
		return m.refs[after.N:], mark, false
	}
	if m.refs != nil {
		return nil, mark, false
	}
	if after.Of != m.of {
		after, reset = Mark{}, after != Mark{}
	}
	m.spans(func(line int, s *tracefile.RunSpan) {
		ref := LineRef{File: "traces.jsonl", Offset: int64(line), Bytes: int64(m.of)}
		of := s.Run
		if unassigned(of) {
			of = ""
		}
		if of == run && line >= after.N && !slices.Contains(lines, ref) {
			lines = append(lines, ref)
		}
	})
	return lines, mark, reset
}

func (m *memory) ReadLine(ref LineRef, buf []byte) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	if m.delay > 0 {
		time.Sleep(m.delay)
	}
	if m.fault != nil {
		return nil, m.fault
	}
	if ref.Bytes != int64(m.of) {
		return nil, ErrGone
	}
	return append(buf, m.lines[ref.Offset]...), nil
}

func (m *memory) RunsOfTrace(id [16]byte) (runs []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refs != nil {
		return []string{"r"}
	}
	m.spans(func(_ int, s *tracefile.RunSpan) {
		if s.TraceID() == id && !unassigned(s.Run) && !slices.Contains(runs, s.Run) {
			runs = append(runs, s.Run)
		}
	})
	return runs
}

func open(t *testing.T, runs *Runs, id string) *OpenedRun {
	t.Helper()
	run, _ := openPart(t, runs, id)
	return run
}

func openPart(t *testing.T, runs *Runs, id string) (*OpenedRun, *Partial) {
	t.Helper()
	run, partial, err := runs.Open(t.Context(), id)
	require.NoError(t, err)
	return run, partial
}

// openAll returns run r of the lines, all of it.
func openAll(t *testing.T, lines ...string) (*OpenedRun, *memory) {
	t.Helper()
	m := &memory{}
	m.append(lines...)
	run, partial := openPart(t, NewRuns(m, RunsOptions{}), "r")
	require.Nil(t, partial)
	return run, m
}
