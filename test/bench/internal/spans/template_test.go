package spans_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/runspan/runspan/test/bench/internal/spans"
)

func decode(t *testing.T, body []byte) ptrace.ResourceSpans {
	t.Helper()
	request := ptraceotlp.NewExportRequest()
	require.NoError(t, request.UnmarshalProto(body))
	require.Equal(t, 1, request.Traces().ResourceSpans().Len())
	return request.Traces().ResourceSpans().At(0)
}

func runOf(t *testing.T, attrs pcommon.Map) string {
	t.Helper()
	v, ok := attrs.Get("run.id")
	require.True(t, ok)
	require.Regexp(t, `^\d{8}-\d{6}-\d+-[0-9a-f]{8}$`, v.Str())
	return v.Str()
}

func TestXTunerShape(t *testing.T) {
	template, err := spans.New(spans.XTuner)
	require.NoError(t, err)
	rs := decode(t, template.Stamp(0))
	assert.Equal(t, 5, rs.Resource().Attributes().Len())
	all := rs.ScopeSpans().At(0).Spans()
	require.Equal(t, 200, all.Len())
	roots := 0
	for _, span := range all.All() {
		assert.Equal(t, 9, span.Attributes().Len())
		if span.ParentSpanID().IsEmpty() {
			roots++
		}
	}
	assert.Equal(t, 50, roots)

	// The size that the figures in docs are about: a span is some 870 bytes as a line of JSON.
	line, err := (&ptrace.JSONMarshaler{}).MarshalTraces(func() ptrace.Traces {
		td := ptrace.NewTraces()
		rs.CopyTo(td.ResourceSpans().AppendEmpty())
		return td
	}())
	require.NoError(t, err)
	assert.InDelta(t, 870, float64(len(line))/200, 10)
}

func TestStampsShareNoIDs(t *testing.T) {
	template, err := spans.New(spans.XTuner)
	require.NoError(t, err)
	traces, ids := map[pcommon.TraceID]int{}, map[pcommon.SpanID]bool{}
	for seq := range uint64(5) {
		for _, span := range decode(t, template.Stamp(seq*1_000_000)).ScopeSpans().At(0).Spans().All() {
			traces[span.TraceID()]++
			assert.False(t, ids[span.SpanID()])
			ids[span.SpanID()] = true
			if parent := span.ParentSpanID(); !parent.IsEmpty() {
				assert.True(t, ids[parent], "a parent is sent before its child")
			}
		}
	}
	assert.Len(t, traces, 5*50)
	for _, n := range traces {
		assert.Equal(t, 4, n)
	}
}

func TestRuns(t *testing.T) {
	for _, c := range []struct {
		naming           spans.Naming
		inRequest, inAll int
	}{
		{spans.OnResource, 1, 3},
		{spans.OnSpans, 1, 3},
		{spans.Mixed, 7, 21},
	} {
		t.Run(string(c.naming), func(t *testing.T) {
			runs := 3
			if c.naming == spans.Mixed {
				runs = 100
			}
			template, err := spans.New(spans.Shape{Spans: 7, Attributes: 2, Runs: runs, Naming: c.naming})
			require.NoError(t, err)
			all := map[string]bool{}
			for seq := range uint64(3) {
				rs := decode(t, template.Stamp(seq))
				request := map[string]bool{}
				if c.naming == spans.OnResource {
					request[runOf(t, rs.Resource().Attributes())] = true
				}
				for _, span := range rs.ScopeSpans().At(0).Spans().All() {
					if c.naming != spans.OnResource {
						request[runOf(t, span.Attributes())] = true
					}
				}
				assert.Len(t, request, c.inRequest)
				for run := range request {
					all[run] = true
				}
			}
			assert.Len(t, all, c.inAll)
		})
	}
}

func TestAttributes(t *testing.T) {
	for _, n := range []int{1, 9, 50} {
		template, err := spans.New(spans.Shape{Spans: 1, Attributes: n, Runs: 1, Naming: spans.OnResource})
		require.NoError(t, err)
		span := decode(t, template.Stamp(0)).ScopeSpans().At(0).Spans().At(0)
		assert.Equal(t, n, span.Attributes().Len())
	}
}

func TestImpossibleShapes(t *testing.T) {
	good := spans.XTuner
	for message, change := range map[string]func(*spans.Shape){
		"spans a request: 0":    func(s *spans.Shape) { s.Spans = 0 },
		"attributes a span: -1": func(s *spans.Shape) { s.Attributes = -1 },
		"runs: 0":               func(s *spans.Shape) { s.Runs = 0 },
		`run named on "header"`: func(s *spans.Shape) { s.Naming = "header" },
	} {
		shape := good
		change(&shape)
		_, err := spans.New(shape)
		require.ErrorContains(t, err, message)
	}
}

func BenchmarkStamp(b *testing.B) {
	template, err := spans.New(spans.XTuner)
	require.NoError(b, err)
	for seq := range uint64(b.N) {
		template.Stamp(seq)
	}
}
