package jaegerexporter

import (
	"slices"
	"testing"
	"time"

	"github.com/jaegertracing/jaeger-idl/model/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// No message is over the limit, none could hold the next span too, and all spans are there in their
// order; around the sizes where the length of a length changes.
func TestMessages_Limits(t *testing.T) {
	td := resources(1000, 1, 7)
	whole := messages(td, 1<<30)
	require.Len(t, whole, 3)
	one := messages(resources(1), 1<<30)[0].request.Size()
	exact := func(spans int) int {
		return request(whole[0].request.Batch.Process, whole[0].request.Batch.Spans[:spans]).Size()
	}
	for _, limit := range []int{exact(2), exact(3), exact(10), exact(500), one, 2*one - 1, 2 * one, 127, 128, 129, 130, 131, 200, 1000, 16383, 16384, 16385, 16386, 16387, whole[0].request.Size() - 1, whole[0].request.Size()} {
		limit = max(limit, one+10) // the longest name has 3 bytes more than that of the one
		all := messages(td, limit)
		next := 0
		for i, m := range all {
			require.NoError(t, m.tooLarge, "limit %d", limit)
			require.LessOrEqual(t, m.request.Size(), limit)
			require.Equal(t, next, m.from)
			require.Equal(t, len(m.request.Batch.Spans), m.to-m.from)
			require.Less(t, m.from, m.to)
			next = m.to
			if i+1 < len(all) && all[i+1].request.Batch.Process == m.request.Batch.Process {
				more := slices.Concat(m.request.Batch.Spans, all[i+1].request.Batch.Spans[:1])
				require.Greater(t, request(m.request.Batch.Process, more).Size(), limit, "the next span has room in message %d of limit %d", i, limit)
			}
		}
		require.Equal(t, 1008, next)
	}
	size := whole[0].request.Size()
	assert.Len(t, messages(td, size), 3, "a message of exactly the limit is one")
	assert.Len(t, messages(td, size-1), 4)

	two := messages(resources(2), one)
	require.Len(t, two, 2, "a span of exactly the limit is a message")
	assert.NoError(t, two[0].tooLarge)
}

// A span that is over the limit by itself: it alone stays behind.
func TestMessages_OversizedSpan(t *testing.T) {
	big := func(td ptrace.Traces, resource, span int) ptrace.Traces {
		changed := ptrace.NewTraces()
		td.CopyTo(changed)
		s := changed.ResourceSpans().At(resource).ScopeSpans().At(0).Spans().At(span)
		s.Attributes().PutStr("prompt", string(make([]byte, 5000)))
		return changed
	}
	for name, tc := range map[string]struct {
		td       ptrace.Traces
		messages [][2]int // from, to
		tooLarge int      // which of them
	}{
		"alone":  {big(resources(1), 0, 0), [][2]int{{0, 1}}, 0},
		"first":  {big(resources(3), 0, 0), [][2]int{{0, 1}, {1, 3}}, 0},
		"middle": {big(resources(2, 3), 1, 1), [][2]int{{0, 2}, {2, 3}, {3, 4}, {4, 5}}, 2},
		"last":   {big(resources(3, 2), 0, 2), [][2]int{{0, 2}, {2, 3}, {3, 5}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			all := messages(tc.td, 4096)
			var got [][2]int
			for i, m := range all {
				got = append(got, [2]int{m.from, m.to})
				assert.Equal(t, i == tc.tooLarge, m.tooLarge != nil, "message %d", i)
			}
			assert.Equal(t, tc.messages, got)
			err := all[tc.tooLarge].tooLarge
			assert.Equal(t, codes.InvalidArgument, status.Code(err))
			require.ErrorContains(t, err, "over max_message_bytes: 4096: raise it")
		})
	}
}

// What has no spans is no message, and does not shift the others.
func TestMessages_WithoutSpans(t *testing.T) {
	td := ptrace.NewTraces()
	td.ResourceSpans().AppendEmpty()
	td.ResourceSpans().AppendEmpty().Resource().Attributes().PutStr("service.name", "idle")
	rs := td.ResourceSpans().AppendEmpty()
	rs.ScopeSpans().AppendEmpty()
	rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty().SetName("a")
	td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
	td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty().SetName("b")
	all := messages(td, defaultMessageBytes)
	require.Len(t, all, 2)
	assert.Equal(t, []string{"a"}, names(rest(td, all[:1])))
	assert.Equal(t, []string{"b"}, names(rest(td, all[1:])))
	assert.Equal(t, 2, td.SpanCount(), "the original is unchanged")
	assert.Empty(t, messages(ptrace.NewTraces(), defaultMessageBytes))
}

func TestMessages_Service(t *testing.T) {
	for name, tc := range map[string]struct {
		set  func(attrs pcommon.Map)
		want string
	}{
		"a name":             {func(a pcommon.Map) { a.PutStr("service.name", "driver") }, "driver"},
		"no attributes":      {func(pcommon.Map) {}, "unknown_service"},
		"other attributes":   {func(a pcommon.Map) { a.PutStr("run.id", "7") }, "unknown_service"},
		"an empty name":      {func(a pcommon.Map) { a.PutStr("service.name", "") }, "unknown_service"},
		"not a text":         {func(a pcommon.Map) { a.PutInt("service.name", 7) }, "unknown_service"},
		"what Jaeger drops":  {func(a pcommon.Map) { a.PutStr("service.name", "OTLPResourceNoServiceName") }, "unknown_service"},
		"another than ASCII": {func(a pcommon.Map) { a.PutStr("service.name", "训练") }, "训练"},
	} {
		t.Run(name, func(t *testing.T) {
			td := ptrace.NewTraces()
			rs := td.ResourceSpans().AppendEmpty()
			tc.set(rs.Resource().Attributes())
			rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
			process := messages(td, defaultMessageBytes)[0].request.Batch.Process
			assert.Equal(t, tc.want, process.ServiceName)
			if name == "other attributes" {
				assert.Equal(t, []model.KeyValue{model.String("run.id", "7")}, process.Tags)
			}
		})
	}
}

func TestMessages_Times(t *testing.T) {
	at := func(ns int64) pcommon.Timestamp { return pcommon.Timestamp(ns) }
	const noon = int64(1_764_590_400_000_000_000)
	for name, tc := range map[string]struct {
		start, end pcommon.Timestamp
		want       time.Time
		duration   time.Duration
	}{
		"both":                  {at(noon), at(noon + 5), time.Unix(0, noon), 5},
		"no time at all":        {at(noon), at(noon), time.Unix(0, noon), 0},
		"no end":                {at(noon), 0, time.Unix(0, noon), 0},
		"no start":              {0, at(noon), time.Unix(0, noon), 0},
		"neither":               {0, 0, time.Unix(0, 0), 0},
		"ends before it starts": {at(noon), at(noon - 1), time.Unix(0, noon), 0},
	} {
		t.Run(name, func(t *testing.T) {
			td := ptrace.NewTraces()
			span := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
			span.SetStartTimestamp(tc.start)
			span.SetEndTimestamp(tc.end)
			got := messages(td, defaultMessageBytes)[0].request.Batch.Spans[0]
			assert.Equal(t, tc.want.UTC(), got.StartTime)
			assert.Equal(t, tc.duration, got.Duration)
		})
	}
}
