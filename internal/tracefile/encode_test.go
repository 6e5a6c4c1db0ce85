package tracefile

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"
)

var updateEncoded = flag.Bool("update-encoded", false, "write testdata/encode anew")

// TestGolden holds the canonical form: readers search lines for raw bytes.
func TestGolden(t *testing.T) {
	for name, td := range goldenTraces(t) {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", "encode", name+".json")
			line := AppendTraces(nil, td)
			if *updateEncoded {
				require.NoError(t, os.WriteFile(path, append(line, '\n'), 0o600))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, string(want), string(line)+"\n")
			requireSameMeaning(t, td, line)
			assertKindToReaders(t, line)
		})
	}
}

func goldenTraces(t *testing.T) map[string]ptrace.Traces {
	t.Helper()
	u := ptrace.ProtoUnmarshaler{}
	strindex, err := u.UnmarshalTraces(strindexTraces())
	require.NoError(t, err)
	deprecated, err := u.UnmarshalTraces(deprecatedTraces())
	require.NoError(t, err)
	return map[string]ptrace.Traces{
		"no_resources":      ptrace.NewTraces(),
		"every_field":       everyField(),
		"empty_objects":     emptyObjects(),
		"values":            withSpan(everyValue),
		"status_unset":      withSpan(func(ptrace.Span) {}),
		"status_ok":         withSpan(func(span ptrace.Span) { span.Status().SetCode(ptrace.StatusCodeOk) }),
		"status_error":      withSpan(statusError),
		"enums_unknown":     withSpan(unknownEnums),
		"text":              withSpan(everyEscape),
		"entity_refs":       entityRefs(),
		"string_table":      strindex,
		"deprecated_scopes": deprecated,
	}
}

func withSpan(fill func(ptrace.Span)) ptrace.Traces {
	td := ptrace.NewTraces()
	fill(td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty())
	return td
}

func statusError(span ptrace.Span) {
	span.Status().SetCode(ptrace.StatusCodeError)
	span.Status().SetMessage("it broke")
}

func unknownEnums(span ptrace.Span) {
	span.SetKind(-1)
	span.Status().SetCode(77)
}

func everyField() ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.SetSchemaUrl("https://opentelemetry.io/schemas/1.37.0")
	rs.Resource().Attributes().PutStr("service.name", "rollout")
	rs.Resource().SetDroppedAttributesCount(1)
	ss := rs.ScopeSpans().AppendEmpty()
	ss.SetSchemaUrl("https://opentelemetry.io/schemas/1.36.0")
	ss.Scope().SetName("scope")
	ss.Scope().SetVersion("1.2.3")
	ss.Scope().Attributes().PutBool("scope.attribute", true)
	ss.Scope().SetDroppedAttributesCount(2)
	for i := range 2 {
		span := ss.Spans().AppendEmpty()
		span.SetTraceID(pcommon.TraceID{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, byte(i)})
		span.SetSpanID(pcommon.SpanID{0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0x67, byte(i)})
		span.TraceState().FromRaw("vendor=value,other=1")
		span.SetParentSpanID(pcommon.SpanID{0xff, 0, 0, 0, 0, 0, 0, 0x0a})
		span.SetFlags(0x301)
		span.SetName("rollout.worker.generate")
		span.SetKind(ptrace.SpanKindClient)
		span.SetStartTimestamp(1_785_000_000_123_456_789)
		span.SetEndTimestamp(math.MaxUint64)
		span.Attributes().PutInt("xtuner.rollout_id", 7)
		span.SetDroppedAttributesCount(3)
		for range 2 {
			event := span.Events().AppendEmpty()
			event.SetTimestamp(1)
			event.SetName("exception")
			event.Attributes().PutStr("exception.message", "no \"answer\"\n")
			event.SetDroppedAttributesCount(4)
		}
		span.SetDroppedEventsCount(5)
		for range 2 {
			link := span.Links().AppendEmpty()
			link.SetTraceID(pcommon.TraceID{15: 1})
			link.SetSpanID(pcommon.SpanID{7: 2})
			link.TraceState().FromRaw("a=b")
			link.Attributes().PutStr("link.attribute", "x")
			link.SetDroppedAttributesCount(6)
			link.SetFlags(math.MaxUint32)
		}
		span.SetDroppedLinksCount(7)
		statusError(span)
	}
	return td
}

// emptyObjects has an empty one of everything. What holds no span is kept, as the collector does.
func emptyObjects() ptrace.Traces {
	td := ptrace.NewTraces()
	td.ResourceSpans().AppendEmpty().SetSchemaUrl("no scopes")
	rs := td.ResourceSpans().AppendEmpty()
	rs.ScopeSpans().AppendEmpty().SetSchemaUrl("no spans")
	span := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.Events().AppendEmpty()
	span.Links().AppendEmpty()
	entity.ResourceEntityRefs(rs.Resource()).AppendEmpty()
	return td
}

func everyValue(span ptrace.Span) {
	attrs := span.Attributes()
	attrs.PutStr("string", "text")
	attrs.PutStr("string.empty", "")
	attrs.PutStr("", "no key")
	attrs.PutEmpty("empty")
	attrs.PutBool("true", true)
	attrs.PutBool("false", false)
	attrs.PutInt("int.zero", 0)
	attrs.PutInt("int.max", math.MaxInt64)
	attrs.PutInt("int.min", math.MinInt64)
	attrs.PutDouble("double.score", 0.75)
	attrs.PutDouble("double.zero", 0)
	attrs.PutDouble("double.minus_zero", math.Copysign(0, -1))
	attrs.PutDouble("double.whole", -1234567)
	attrs.PutDouble("double.third", 1.0/3)
	attrs.PutDouble("double.small", 1e-7)
	attrs.PutDouble("double.large", 1e21)
	attrs.PutDouble("double.max", math.MaxFloat64)
	attrs.PutDouble("double.nan", math.NaN())
	attrs.PutDouble("double.infinity", math.Inf(1))
	attrs.PutDouble("double.minus_infinity", math.Inf(-1))
	attrs.PutEmptyBytes("bytes.empty")
	for size := range 4 {
		attrs.PutEmptyBytes("bytes." + strings.Repeat("x", size+1)).FromRaw([]byte{0xfb, 0xff, 0, 1}[:size+1])
	}
	attrs.PutEmptySlice("array.empty")
	attrs.PutEmptyMap("map.empty")
	array := attrs.PutEmptySlice("array")
	array.AppendEmpty()
	array.AppendEmpty().SetStr("in an array")
	array.AppendEmpty().SetEmptySlice().AppendEmpty().SetInt(1)
	inner := array.AppendEmpty().SetEmptyMap()
	inner.PutEmptyMap("map in a map").PutEmptyBytes("bytes").FromRaw([]byte("abc"))
	inner.PutDouble("double", 1.5)
}

func everyEscape(span ptrace.Span) {
	var ascii strings.Builder
	for c := range 128 {
		ascii.WriteByte(byte(c))
	}
	span.SetName(ascii.String())
	attrs := span.Attributes()
	attrs.PutStr("html", "</script><!-- & -->")
	attrs.PutStr("separators", "a\u0085b\u2028c\u2029d")
	attrs.PutStr("chinese", "中文，“引号”。\n第二行")
	attrs.PutStr("others", "é привет 한국어 नमस्ते 😀 \ufeff\uffff\U0010ffff")
	attrs.PutStr("bad", "a\xffb\xc0\x80c\xed\xa0\x80d\xe4\xb8e\xf4\x90\x80\x80f\xf0\x9f\x98")
	attrs.PutStr("bad\xff", "key")
	span.TraceState().FromRaw("bad=\xff")
}

func entityRefs() ptrace.Traces {
	td := withSpan(func(ptrace.Span) {})
	refs := entity.ResourceEntityRefs(td.ResourceSpans().At(0).Resource())
	ref := refs.AppendEmpty()
	ref.SetSchemaUrl("https://opentelemetry.io/schemas/1.37.0")
	ref.SetType("service")
	ref.IdKeys().Append("service.name", "service.\"instance\".id")
	ref.DescriptionKeys().Append("service.version")
	refs.AppendEmpty().SetType("host")
	return td
}

func TestDeprecatedScopesBecomeScopes(t *testing.T) {
	u := ptrace.ProtoUnmarshaler{}
	td, err := u.UnmarshalTraces(deprecatedTraces())
	require.NoError(t, err)
	var e Encoder
	lines, err := e.Encode(td)
	require.NoError(t, err)
	require.Len(t, lines, 1, "the spans of the old list count")
	assert.Contains(t, string(lines[0]), `"name":"old"`)
}

func TestNothingToWrite(t *testing.T) {
	withoutSpans := ptrace.NewTraces()
	withoutSpans.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Scope().SetName("no spans")
	for name, td := range map[string]ptrace.Traces{"empty": ptrace.NewTraces(), "no spans": withoutSpans} {
		var e Encoder
		lines, err := e.Encode(td)
		require.NoError(t, err, name)
		assert.Empty(t, lines, name)
	}
}

func TestNesting(t *testing.T) {
	for levels, flattened := range map[int]int{
		maxDepth: 0, maxDepth + 1: 1, maxDepth + 12: 1, maxTextDepth: 1, maxTextDepth + 1: 1, 100_000: 1,
	} {
		u := ptrace.ProtoUnmarshaler{}
		td, err := u.UnmarshalTraces(nestedTraces(levels))
		require.NoError(t, err)
		var e Encoder
		lines, err := e.Encode(td)
		require.NoError(t, err)
		line := lines[0][:len(lines[0])-1]
		assertKindToReaders(t, line)
		assert.Equal(t, flattened, e.Flattened(), "%d levels", levels)

		// The text of the string is the value, in OTLP/JSON, down to the last level that is kept.
		value, kept := unmarshaled(t, line).ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes(), levels
		_, leaf := descend(value)
		if flattened > 0 {
			require.True(t, json.Valid([]byte(leaf)))
			wrapped := `{"resourceSpans":[{"scopeSpans":[{"spans":[{"attributes":[{"value":` + leaf + `}]}]}]}]}`
			var depth int
			depth, leaf = descend(unmarshaled(t, []byte(wrapped)).ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes())
			kept = maxDepth + depth
		}
		if levels <= maxTextDepth {
			assert.Equal(t, levels, kept)
			assert.Equal(t, "leaf", leaf)
		} else {
			assert.Equal(t, maxTextDepth, kept)
			assert.Equal(t, "[nested deeper than 1000 levels]", leaf)
		}
	}
}

// descend follows the only value of each array and map and returns how many there are, and the
// string in the innermost.
func descend(attrs pcommon.Map) (levels int, leaf string) {
	var v pcommon.Value
	for _, v = range attrs.All() {
	}
	for ; ; levels++ {
		switch v.Type() {
		case pcommon.ValueTypeMap:
			for _, inner := range v.Map().All() {
				v = inner
			}
		case pcommon.ValueTypeSlice:
			v = v.Slice().At(0)
		default:
			return levels, v.Str()
		}
	}
}

// The most levels for a value are those of maps in an attribute of an event.
func TestDeepestLineKeepsTheLimitsOfReaders(t *testing.T) {
	td := withSpan(func(span ptrace.Span) {
		m := span.Events().AppendEmpty().Attributes()
		for range maxDepth + 5 {
			m = m.PutEmptyMap("m")
		}
		m.PutStr("leaf", "x")
	})
	assert.Equal(t, 124, levelsOf(AppendTraces(nil, td)))
}

// Each text is longer in JSON by more than the room that is kept behind the bytes still to come.
func TestTextThatGrowsInsideOfARun(t *testing.T) {
	for _, text := range []string{"中\n", "é\x01", "中\xff", "\u0085", "\u2028", "\xff", "\x00", "\"", "a\"b\x01"} {
		long := strings.Repeat(text, 500)
		var back string
		require.NoError(t, json.Unmarshal(appendString(nil, long), &back))
		assert.Equal(t, string([]rune(long)), back, "%q", text)
	}
}

func TestFlattenedCountsTheLastCallOnly(t *testing.T) {
	u := ptrace.ProtoUnmarshaler{}
	td, err := u.UnmarshalTraces(nestedTraces(maxDepth + 1))
	require.NoError(t, err)
	var e Encoder
	_, err = e.Encode(td)
	require.NoError(t, err)
	assert.Equal(t, 1, e.Flattened())
	_, err = e.Encode(withSpan(func(ptrace.Span) {}))
	require.NoError(t, err)
	assert.Equal(t, 0, e.Flattened())
}

func TestEncodeDoesNotAllocate(t *testing.T) {
	requests := corpora(t)
	requests["every field"] = everyField()
	requests["values"] = withSpan(everyValue)
	requests["text"] = withSpan(everyEscape)
	requests["entity refs"] = entityRefs()
	for name, td := range requests {
		var e Encoder
		var err error
		allocs := testing.AllocsPerRun(20, func() {
			_, err = e.Encode(td)
		})
		require.NoError(t, err)
		assert.Zero(t, allocs, name)
	}
}

func TestCorporaEqualStockByteForByte(t *testing.T) {
	for name, td := range corpora(t) {
		var stock ptrace.JSONMarshaler
		want, err := stock.MarshalTraces(td)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(AppendTraces(nil, td)), name)
	}
}
