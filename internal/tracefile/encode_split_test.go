package tracefile

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// spansOf is each span of td with its resource and its scope, as protobuf: what a split must keep.
func spansOf(t *testing.T, td ptrace.Traces) []string {
	t.Helper()
	var spans []string
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				alone := ptrace.NewTraces()
				ofSpan := alone.ResourceSpans().AppendEmpty()
				rs.Resource().CopyTo(ofSpan.Resource())
				ofSpan.SetSchemaUrl(rs.SchemaUrl())
				ofScope := ofSpan.ScopeSpans().AppendEmpty()
				ss.Scope().CopyTo(ofScope.Scope())
				ofScope.SetSchemaUrl(ss.SchemaUrl())
				span.CopyTo(ofScope.Spans().AppendEmpty())
				spans = append(spans, string(wire(t, alone)))
			}
		}
	}
	return spans
}

// spansIn is the same of lines, each of which is checked.
func spansIn(t *testing.T, lines [][]byte, limit int) []string {
	t.Helper()
	var spans []string
	for _, line := range lines {
		require.LessOrEqual(t, len(line), limit)
		body, ok := bytes.CutSuffix(line, []byte("\n"))
		require.True(t, ok)
		assertKindToReaders(t, body)
		ofLine := spansOf(t, unmarshaled(t, body))
		require.NotEmpty(t, ofLine, "a line without a span: %s", line)
		spans = append(spans, ofLine...)
	}
	return spans
}

func FuzzSplit(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed, uint16(seed*13))
	}
	f.Fuzz(func(t *testing.T, seed uint64, extra uint16) {
		td := newGenerator(seed).traces()
		want := spansOf(t, unmarshaled(t, []byte(stockLine(t, td))))
		e := Encoder{MaxLineBytes: 1}
		longest := longestSpan(t, td)
		e.MaxLineBytes = max(1, longest+int(extra)%(longest+1))
		lines, err := e.Encode(td)
		require.NoError(t, err)
		require.Equal(t, want, spansIn(t, lines, e.MaxLineBytes))

		// As few lines as the order allows: no span would have fitted into the line before its own.
		for i := 1; i < len(lines); i++ {
			require.Greater(t, len(joinedLines(t, lines[i-1], lines[i])), e.MaxLineBytes)
		}
		again := Encoder{MaxLineBytes: e.MaxLineBytes, buf: dirty()}
		repeated, err := again.Encode(td)
		require.NoError(t, err)
		require.Equal(t, lines, repeated, "a retry must give the same lines")

		// One byte less, and the longest span finds no line; all others do.
		if longest > 1 {
			e.MaxLineBytes = longest - 1
			lines, err = e.Encode(td)
			var tooLong *LineTooLongError
			require.ErrorAs(t, err, &tooLong)
			assert.Equal(t, longest, tooLong.Bytes)
			assert.Len(t, spansIn(t, lines, e.MaxLineBytes), len(want)-tooLong.Spans)
		}
	})
}

// longestSpan is the size of the longest line that a span of td needs for itself.
func longestSpan(t *testing.T, td ptrace.Traces) int {
	t.Helper()
	longest := 0
	for _, span := range spansOf(t, td) {
		u := ptrace.ProtoUnmarshaler{}
		alone, err := u.UnmarshalTraces([]byte(span))
		require.NoError(t, err)
		longest = max(longest, len(AppendTraces(nil, alone))+1)
	}
	return longest
}

// joinedLines is the first line with the first span of the second.
func joinedLines(t *testing.T, first, second []byte) []byte {
	t.Helper()
	td, next := unmarshaled(t, first), unmarshaled(t, second)
	rs := next.ResourceSpans().At(0)
	ss := rs.ScopeSpans().At(0)
	ss.Spans().RemoveIf(func(span ptrace.Span) bool { return span != ss.Spans().At(0) })
	into := td.ResourceSpans().At(td.ResourceSpans().Len() - 1)
	intoScope := into.ScopeSpans().At(into.ScopeSpans().Len() - 1)
	switch {
	case !sameResource(t, into, rs):
		rs.ScopeSpans().RemoveIf(func(other ptrace.ScopeSpans) bool { return other != ss })
		rs.CopyTo(td.ResourceSpans().AppendEmpty())
	case !sameScope(t, intoScope, ss):
		ss.CopyTo(into.ScopeSpans().AppendEmpty())
	default:
		ss.Spans().At(0).CopyTo(intoScope.Spans().AppendEmpty())
	}
	return append(AppendTraces(nil, td), '\n')
}

func sameResource(t *testing.T, a, b ptrace.ResourceSpans) bool {
	t.Helper()
	return resourceHead(t, a) == resourceHead(t, b)
}

func sameScope(t *testing.T, a, b ptrace.ScopeSpans) bool {
	t.Helper()
	var e Encoder
	return string(e.appendScopeHead(nil, a))+a.SchemaUrl() == string(e.appendScopeHead(nil, b))+b.SchemaUrl()
}

func resourceHead(t *testing.T, rs ptrace.ResourceSpans) string {
	t.Helper()
	var e Encoder
	return string(e.appendResourceHead(nil, rs)) + rs.SchemaUrl()
}

func TestLimitCountsTheNewline(t *testing.T) {
	td := corpus(t, nil)
	size := len(AppendTraces(nil, td)) + 1
	for limit, want := range map[int]int{size: 1, size - 1: 2, 0: 1} {
		e := Encoder{MaxLineBytes: limit}
		lines, err := e.Encode(td)
		require.NoError(t, err)
		assert.Len(t, lines, want)
	}
}

// Two spans that fill a line to the last byte share it, and what is flattened is counted once, though
// the first try to write one line met it too.
func TestSplitFillsALine(t *testing.T) {
	u := ptrace.ProtoUnmarshaler{}
	td, err := u.UnmarshalTraces(nestedTraces(maxDepth + 1))
	require.NoError(t, err)
	spans := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	spans.At(0).CopyTo(spans.AppendEmpty())
	e := Encoder{MaxLineBytes: len(AppendTraces(nil, td)) + 1}
	spans.At(0).CopyTo(spans.AppendEmpty())
	lines, err := e.Encode(td)
	require.NoError(t, err)
	require.Len(t, lines, 2)
	assert.Len(t, lines[0], e.MaxLineBytes)
	assert.Equal(t, 3, e.Flattened())
}

func TestDefaultLimit(t *testing.T) {
	td := withSpan(func(span ptrace.Span) { span.SetName(strings.Repeat("x", DefaultMaxLineBytes)) })
	var e Encoder
	lines, err := e.Encode(td)
	assert.Empty(t, lines)
	var tooLong *LineTooLongError
	require.ErrorAs(t, err, &tooLong)
	assert.Equal(t, DefaultMaxLineBytes, tooLong.Limit)
}

func TestSpanTooLong(t *testing.T) {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "rollout")
	spans := rs.ScopeSpans().AppendEmpty().Spans()
	for i := range 6 {
		span := spans.AppendEmpty()
		span.SetName("short")
		span.SetSpanID(pcommon.SpanID{7: byte(i + 1)})
		if i == 2 || i == 4 {
			span.SetTraceID(pcommon.TraceID{15: 0xab})
			span.SetName(strings.Repeat("long", 1000))
		}
	}
	e := Encoder{MaxLineBytes: 1000}
	lines, err := e.Encode(td)
	var tooLong *LineTooLongError
	require.ErrorAs(t, err, &tooLong)
	assert.Equal(t, 2, tooLong.Spans)
	assert.Equal(t, 1000, tooLong.Limit)
	assert.Greater(t, tooLong.Bytes, 4000)
	require.ErrorContains(t, err, "max_line_bytes is 1000")
	require.ErrorContains(t, err, `span "0000000000000003" of trace "000000000000000000000000000000ab"`)

	td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().RemoveIf(func(span ptrace.Span) bool { return len(span.Name()) > 1000 })
	assert.Equal(t, spansOf(t, td), spansIn(t, lines, 1000))

	lines, err = e.Encode(td)
	require.NoError(t, err, "an error must not outlive its call")
	assert.Len(t, lines, 1)
}

// A part of a request has the lines that it would have as a request of its own, and those of the other
// parts stay as they are.
func TestEncoder_Parts(t *testing.T) {
	td := ptrace.NewTraces()
	parts := [][]int{{0, 3}, {1}, {2, 4}, {5}}
	alone := make([]ptrace.Traces, len(parts))
	for i := range 6 {
		rs := td.ResourceSpans().AppendEmpty()
		rs.Resource().Attributes().PutInt("resource", int64(i))
		for n := range 40 * i {
			rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty().SetName(strings.Repeat("x", n))
		}
	}
	for i, part := range parts {
		alone[i] = ptrace.NewTraces()
		for _, resource := range part {
			td.ResourceSpans().At(resource).CopyTo(alone[i].ResourceSpans().AppendEmpty())
		}
	}
	for _, limit := range []int{200, 2000, 1 << 20} {
		e, other := Encoder{MaxLineBytes: limit}, Encoder{MaxLineBytes: limit}
		for range 2 {
			e.Begin(td)
			got, errs := make([][][]byte, len(parts)), make([]error, len(parts))
			for i, part := range parts {
				got[i], errs[i] = e.EncodePart(part)
			}
			e.End()
			for i := range parts {
				want, err := other.Encode(alone[i])
				assert.Equal(t, err, errs[i])
				require.Len(t, got[i], len(want))
				for n := range want {
					require.Equal(t, string(want[n]), string(got[i][n]))
				}
			}
		}
	}
}
