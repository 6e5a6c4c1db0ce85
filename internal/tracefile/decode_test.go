package tracefile

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// decodedLine is what a new Decoder makes of a line.
func decodedLine(line []byte) (td ptrace.Traces, lost int, err error) {
	var d Decoder
	td = ptrace.NewTraces()
	lost, err = d.Append(td.ResourceSpans(), line)
	return td, lost, err
}

func isCanonical(line []byte) bool {
	var c canonical
	return c.read(ptrace.NewTraces().ResourceSpans(), line)
}

// checkDecoding compares with the stock unmarshaler. The fast code may take only lines that the
// stock one takes, all of each and nothing else.
func checkDecoding(t *testing.T, line []byte) {
	t.Helper()
	stock := ptrace.JSONUnmarshaler{DisallowUnknownFields: true}
	want, stockErr := stock.UnmarshalTraces(line)
	if isCanonical(line) {
		require.True(t, json.Valid(line), "%q", line)
		require.NoError(t, stockErr, "%q", line)
	}
	got, lost, err := decodedLine(line)
	switch {
	case err != nil:
		assert.Equal(t, 0, got.ResourceSpans().Len(), "something of a bad line stayed")
		return
	case stockErr != nil: // salvaged, in part
		return
	}
	require.Zero(t, lost, "%q", line)
	require.Equal(t, wire(t, want), wire(t, got), "%q", line)
}

// Every line of ours is read by the fast code, but for those with the few things that it leaves to
// the stock one.
func TestDecode_OwnLines(t *testing.T) {
	for name, td := range corpora(t) {
		line := AppendTraces(nil, td)
		assert.True(t, isCanonical(line), name)
		assert.True(t, isCanonical(append(line, '\n')), name)
		checkDecoding(t, line)
	}
	golden, err := filepath.Glob("testdata/encode/*.json*")
	require.NoError(t, err)
	for _, file := range golden {
		line, err := os.ReadFile(file)
		require.NoError(t, err)
		checkDecoding(t, line)
	}
	fast, all := 0, 0
	for seed := range uint64(2000) {
		line := AppendTraces(nil, newGenerator(seed).traces())
		checkDecoding(t, line)
		if strings.Contains(string(line), `"entityRefs"`) || strings.Contains(string(line), `{"value":`) || string(line) == "{}" {
			continue
		}
		all++
		if isCanonical(line) {
			fast++
		}
	}
	// What remains has a key twice in one map, which random short keys have now and then.
	assert.Greater(t, fast, all*9/10, "%d of %d", fast, all)
}

// Every field with its own value, so that a field read into another one's place is seen.
func TestDecode_EveryField(t *testing.T) {
	td := ptrace.NewTraces()
	for r := range 2 {
		rs := td.ResourceSpans().AppendEmpty()
		rs.SetSchemaUrl("resource schema")
		rs.Resource().Attributes().PutInt("r", int64(r))
		rs.Resource().SetDroppedAttributesCount(11)
		ss := rs.ScopeSpans().AppendEmpty()
		ss.SetSchemaUrl("scope schema")
		ss.Scope().SetName("scope")
		ss.Scope().SetVersion("1.2")
		ss.Scope().Attributes().PutStr("s", "t")
		ss.Scope().SetDroppedAttributesCount(12)
		for range 3 {
			fillSpan(ss.Spans().AppendEmpty())
		}
		ss.Spans().AppendEmpty()
		rs.ScopeSpans().AppendEmpty()
	}
	td.ResourceSpans().AppendEmpty()
	line := AppendTraces(nil, td)
	assert.True(t, isCanonical(line), "%s", line)
	got, lost, err := decodedLine(line)
	require.NoError(t, err)
	assert.Zero(t, lost)
	assert.Equal(t, wire(t, td), wire(t, got))
}

// One span with everything, less any one byte or with it twice, must be what the stock unmarshaler
// makes of that, or an error.
func TestDecode_EveryByteChanged(t *testing.T) {
	td := ptrace.NewTraces()
	fillSpan(td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty())
	line := AppendTraces(nil, td)
	for i := range line {
		checkDecoding(t, append(line[:i:i], line[i+1:]...))
		checkDecoding(t, append(append(line[:i:i], line[i]), line[i:]...))
	}
}

// The same with lines of every kind in which one to three bytes were changed at random.
func TestDecode_RandomChanges(t *testing.T) {
	const bytes = `"\{}[]:,0123456789abcdefnrtu-+.eE /` + "\n\r\x00\xff"
	random := rand.New(rand.NewPCG(1, 2))
	for seed := range uint64(200) {
		line := AppendTraces(nil, newGenerator(seed).traces())
		for range 25 {
			changed := slices.Clone(line)
			for range 1 + random.IntN(3) {
				changed[random.IntN(len(changed))] = bytes[random.IntN(len(bytes))]
			}
			checkDecoding(t, changed)
		}
	}
}

func fillSpan(span ptrace.Span) {
	span.SetTraceID(traceID(1))
	span.SetSpanID(spanID(2))
	span.SetParentSpanID(spanID(3))
	span.TraceState().FromRaw("a=b")
	span.SetFlags(1<<32 - 1)
	span.SetName("name \"\\/\b\f\n\r\t\x00\x1f 中文 \u2028")
	span.SetKind(ptrace.SpanKindConsumer)
	span.SetStartTimestamp(1)
	span.SetEndTimestamp(1<<63 + 1)
	span.SetDroppedAttributesCount(4)
	span.SetDroppedEventsCount(5)
	span.SetDroppedLinksCount(6)
	span.Status().SetCode(ptrace.StatusCodeError)
	span.Status().SetMessage("message")
	fillMap(span.Attributes())
	event := span.Events().AppendEmpty()
	event.SetName("event")
	event.SetTimestamp(7)
	event.SetDroppedAttributesCount(8)
	fillMap(event.Attributes())
	span.Events().AppendEmpty()
	link := span.Links().AppendEmpty()
	link.SetTraceID(traceID(9))
	link.SetSpanID(spanID(10))
	link.TraceState().FromRaw("c=d")
	link.SetFlags(13)
	link.SetDroppedAttributesCount(14)
	fillMap(link.Attributes())
	span.Links().AppendEmpty()
}

func fillMap(m pcommon.Map) {
	m.PutEmpty("empty")
	m.PutStr("text", "t")
	m.PutStr("no text", "")
	m.PutInt("least", -1<<63)
	m.PutInt("most", 1<<63-1)
	m.PutDouble("double", -1.5e-300)
	m.PutBool("true", true)
	m.PutBool("false", false)
	m.PutEmptyBytes("bytes").FromRaw([]byte{0, 255})
	m.PutEmptyBytes("no bytes")
	values := m.PutEmptySlice("list")
	values.AppendEmpty().SetInt(1)
	values.AppendEmpty().SetEmptyMap().PutStr("k", "v")
	m.PutEmptySlice("no list")
	m.PutEmptyMap("no map")
}

func TestDecode_ManyKeysAreLeftToTheStockOne(t *testing.T) {
	td := ptrace.NewTraces()
	attrs := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty().Attributes()
	for i := range maxScannedKeys {
		attrs.PutInt(strconv.Itoa(i), 1)
	}
	assert.True(t, isCanonical(AppendTraces(nil, td)))
	attrs.PutInt("more", 1)
	line := AppendTraces(nil, td)
	assert.False(t, isCanonical(line))
	checkDecoding(t, line)
}

// A text must not change with the next one, nor with the next line.
func TestDecode_TextsStay(t *testing.T) {
	var d Decoder
	all := ptrace.NewTraces()
	var want []string
	for i := range 100 {
		td := ptrace.NewTraces()
		spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
		for j := range 20 {
			name := strings.Repeat(fmt.Sprintf("\"%d\n%d\"", i, j), 1+i*j)
			spans.AppendEmpty().SetName(name)
			want = append(want, name)
		}
		line := append(AppendTraces(nil, td), '\n')
		_, err := d.Append(all.ResourceSpans(), line)
		require.NoError(t, err)
		clear(line)
	}
	var got []string
	for _, rs := range all.ResourceSpans().All() {
		for _, span := range rs.ScopeSpans().At(0).Spans().All() {
			got = append(got, span.Name())
		}
	}
	assert.Equal(t, want, got)
}

func TestDecode_BadLineLeavesNothing(t *testing.T) {
	var d Decoder
	td := ptrace.NewTraces()
	td.ResourceSpans().AppendEmpty().SetSchemaUrl("before")
	good := string(AppendTraces(nil, corpus(t, nil)))
	for name, line := range map[string]string{
		"torn":     good[:len(good)/2],
		"glued":    good + good,
		"no end":   good[:len(good)-1],
		"metrics":  `{"resourceMetrics":[]}`,
		"no list":  `{"resourceSpans":7}`,
		"no JSON":  "hello",
		"a list":   "[]",
		"null":     "null",
		"too deep": `{"resourceSpans":` + strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000) + "}",
		"empty":    "",
		"zeros":    "\x00\x00\x00",
		"a string": `{"resourceSpans":"x"}`[:20],
	} {
		_, err := d.Append(td.ResourceSpans(), []byte(line))
		require.Error(t, err, name)
		if name == "metrics" || name == "no list" {
			require.ErrorIs(t, err, ErrNotTraces)
		} else {
			require.ErrorIs(t, err, ErrNotJSON, name)
		}
		require.Equal(t, 1, td.ResourceSpans().Len(), name)
	}
	_, err := d.Append(td.ResourceSpans(), []byte(good))
	require.NoError(t, err)
	assert.Equal(t, spansPerRequest, td.SpanCount())
}

// Whatever encoding/json calls one object must be one here: a good line that is stepped over is
// a loss. What is no object must not pass as far as this check goes, and nothing may panic.
func FuzzObjectEnd(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":"}"}`, `{"a":"\\"}`, `{"a":"\\\""} `, `{}{}`, `{"a":[{"b":"]"}]}x`, `{`, `"`, `{"a`, "", " {}", `[]`,
		`{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a"}]}]}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		end := objectEnd(data)
		if json.Valid(data) {
			var v any
			require.NoError(t, json.Unmarshal(data, &v))
			if _, ok := v.(map[string]any); ok && (end < 0 || !json.Valid(data[:end])) {
				t.Fatalf("%q ends at %d", data, end)
			}
		}
		if end > 0 && len(data[end:]) > 0 && data[end] == '{' {
			_, _, err := decodedLine(data)
			require.Error(t, err)
		}
	})
}

// FuzzDecode feeds the decoder with lines of ours in which anything was changed.
func FuzzDecode(f *testing.F) {
	for seed := range uint64(60) {
		f.Add(AppendTraces(nil, newGenerator(seed).traces()))
	}
	td := ptrace.NewTraces()
	fillSpan(td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty())
	f.Add(AppendTraces(nil, td))
	for _, line := range foreignLines {
		f.Add([]byte(line.line))
	}
	f.Fuzz(checkDecoding)
}
