package tracefile

import (
	"math"
	"math/rand/v2"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"
)

// generator makes traces in which every field is now and then there and now and then not.
type generator struct {
	*rand.Rand
}

func newGenerator(seed uint64) generator {
	return generator{rand.New(rand.NewPCG(seed, 7))}
}

func (g generator) traces() ptrace.Traces {
	td := ptrace.NewTraces()
	for range g.IntN(4) {
		rs := td.ResourceSpans().AppendEmpty()
		rs.SetSchemaUrl(g.text())
		g.attributes(rs.Resource().Attributes(), 2)
		rs.Resource().SetDroppedAttributesCount(g.count())
		for range g.IntN(2) {
			ref := entity.ResourceEntityRefs(rs.Resource()).AppendEmpty()
			ref.SetSchemaUrl(g.text())
			ref.SetType(g.text())
			for range g.IntN(3) {
				ref.IdKeys().Append(g.text())
				ref.DescriptionKeys().Append(g.text())
			}
		}
		for range g.IntN(3) {
			ss := rs.ScopeSpans().AppendEmpty()
			ss.SetSchemaUrl(g.text())
			ss.Scope().SetName(g.text())
			ss.Scope().SetVersion(g.text())
			g.attributes(ss.Scope().Attributes(), 2)
			ss.Scope().SetDroppedAttributesCount(g.count())
			for range g.IntN(5) {
				g.span(ss.Spans().AppendEmpty())
			}
		}
	}
	return td
}

func (g generator) span(span ptrace.Span) {
	span.SetTraceID(traceID(g.Uint64()))
	if g.IntN(8) == 0 {
		span.SetTraceID(pcommon.TraceID{})
	}
	span.SetSpanID(spanID(g.Uint64()))
	span.SetParentSpanID(pcommon.SpanID{7: byte(g.IntN(2))})
	span.TraceState().FromRaw(g.text())
	span.SetFlags(g.count())
	span.SetName(g.text())
	span.SetKind(ptrace.SpanKind(g.IntN(8) - 1))
	span.SetStartTimestamp(pcommon.Timestamp(g.number()))
	span.SetEndTimestamp(pcommon.Timestamp(g.number()))
	g.attributes(span.Attributes(), 3)
	span.SetDroppedAttributesCount(g.count())
	for range g.IntN(3) {
		event := span.Events().AppendEmpty()
		event.SetTimestamp(pcommon.Timestamp(g.number()))
		event.SetName(g.text())
		g.attributes(event.Attributes(), 2)
		event.SetDroppedAttributesCount(g.count())
	}
	span.SetDroppedEventsCount(g.count())
	for range g.IntN(3) {
		link := span.Links().AppendEmpty()
		link.SetTraceID(traceID(g.Uint64()))
		link.SetSpanID(spanID(g.Uint64()))
		link.TraceState().FromRaw(g.text())
		g.attributes(link.Attributes(), 2)
		link.SetDroppedAttributesCount(g.count())
		link.SetFlags(g.count())
	}
	span.SetDroppedLinksCount(g.count())
	span.Status().SetMessage(g.text())
	span.Status().SetCode(ptrace.StatusCode(g.IntN(5) - 1))
}

func (g generator) attributes(m pcommon.Map, depth int) {
	for range g.IntN(6) {
		g.value(m.PutEmpty(g.text()), depth)
	}
}

func (g generator) value(v pcommon.Value, depth int) {
	kinds := 8
	if depth == 0 {
		kinds = 6
	}
	switch g.IntN(kinds) {
	case 0:
	case 1:
		v.SetStr(g.text())
	case 2:
		v.SetInt(int64(g.number()))
	case 3:
		v.SetDouble(g.double())
	case 4:
		v.SetBool(g.IntN(2) == 0)
	case 5:
		v.SetEmptyBytes().FromRaw([]byte(g.text()))
	case 6:
		values := v.SetEmptySlice()
		for range g.IntN(4) {
			g.value(values.AppendEmpty(), depth-1)
		}
	case 7:
		g.attributes(v.SetEmptyMap(), depth-1)
	}
}

func (g generator) count() uint32 {
	return uint32(g.number()) * uint32(g.IntN(2))
}

// number has any number of digits.
func (g generator) number() uint64 {
	return g.Uint64() >> g.IntN(64) * uint64(min(1, g.IntN(9)))
}

func (g generator) double() float64 {
	special := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64, 1e-6, 1e21}
	switch g.IntN(4) {
	case 0:
		return special[g.IntN(len(special))]
	case 1:
		return math.Float64frombits(g.Uint64())
	case 2:
		return float64(int64(g.number())) / math.Pow10(g.IntN(9))
	default:
		return g.NormFloat64()
	}
}

// text is up to some 300 bytes of everything that a string can be made of.
func (g generator) text() string {
	pieces := []string{
		"a", "plain ASCII text ", "0123456789abcdef", "\"", "\\", "\n", "\r\n\t", "\x00\x1f\x7f", "</script>&'",
		"中文字符测试一二三四五六七八九十", "，。“”", "日本語", "한국어 텍스트", "é", "привет мир ", "नमस्ते", "😀🎉", "\u0085", "\u2028\u2029", "\u2027\u202a\ufffd\uffff",
		"\xff", "\xc0\x80", "\xed\xa0\x80", "\xe4\xb8", "\xf0\x9f\x98", "\xe0\x80\x80", "\xe2\x80", "\xc2", "\x80\x80", "\xf4\x90\x80\x80",
	}
	var text strings.Builder
	for range max(0, g.IntN(12)-4) {
		piece := pieces[g.IntN(len(pieces))]
		text.WriteString(strings.Repeat(piece, 1+g.IntN(3)*g.IntN(3)))
	}
	return text.String()
}
