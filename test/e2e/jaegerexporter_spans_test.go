package e2e

import (
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/runspan/runspan/test/e2e/harness"
)

// everyKindOfSpan returns spans with each kind, status and type of value, with events and links.
func everyKindOfSpan() ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	resource := rs.Resource().Attributes()
	resource.PutStr("service.name", "every kind of span")
	resource.PutStr("run.id", "by hand")
	putEveryValue(resource)
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("the scope")
	ss.Scope().SetVersion("1.2.3")
	start := pcommon.NewTimestampFromTime(time.Now())
	add := func(name string) ptrace.Span {
		span := ss.Spans().AppendEmpty()
		span.SetTraceID(pcommon.TraceID{3, 1})
		span.SetSpanID(pcommon.SpanID{byte(ss.Spans().Len())})
		span.SetName(name)
		span.SetStartTimestamp(start)
		span.SetEndTimestamp(start + 1_500_000)
		return span
	}
	for kind := ptrace.SpanKindUnspecified; kind <= ptrace.SpanKindConsumer; kind++ {
		add("kind " + kind.String()).SetKind(kind)
	}
	for status := ptrace.StatusCodeUnset; status <= ptrace.StatusCodeError; status++ {
		for _, message := range []string{"", "said so"} {
			span := add("status " + status.String() + " " + message)
			span.Status().SetCode(status)
			span.Status().SetMessage(message)
		}
	}
	add("") // a name is not required
	linked := add("linked to its parent and to its trace")
	linked.SetParentSpanID(pcommon.SpanID{1})
	for id := byte(1); id < 4; id++ {
		link := linked.Links().AppendEmpty()
		link.SetTraceID(linked.TraceID())
		link.SetSpanID(pcommon.SpanID{id})
	}

	full := add("full")
	full.SetParentSpanID(pcommon.SpanID{1})
	full.SetFlags(1)
	full.TraceState().FromRaw("vendor=1,other=2")
	putEveryValue(full.Attributes())
	for i, name := range []string{"first", "", "exception"} {
		event := full.Events().AppendEmpty()
		event.SetName(name)
		event.SetTimestamp(start + pcommon.Timestamp(100_000*(i+1)))
		putEveryValue(event.Attributes())
		event.SetDroppedAttributesCount(1)
	}
	for id := byte(8); id < 10; id++ {
		link := full.Links().AppendEmpty()
		link.SetTraceID(pcommon.TraceID{id})
		link.SetSpanID(pcommon.SpanID{id})
		link.TraceState().FromRaw("vendor=1")
		link.Attributes().PutStr("why", "not shown by either")
	}
	full.Links().At(1).Attributes().PutStr("opentracing.ref_type", "child_of")
	return td
}

func putEveryValue(attrs pcommon.Map) {
	attrs.PutStr("text", "文字 \u0001 \"'<>")
	attrs.PutStr("no text", "")
	attrs.PutInt("integer", 1<<62)
	attrs.PutDouble("number", 1.5)
	attrs.PutBool("yes", true)
	attrs.PutBool("no", false)
	attrs.PutEmptyBytes("bytes").FromRaw([]byte{0, 255})
	attrs.PutEmpty("nothing")
	attrs.PutEmptySlice("list").AppendEmpty().SetInt(7)
	attrs.PutEmptyMap("map").PutStr("key", "value")
}

// differentStart is when the spans of spansThatDiffer begin: Jaeger's warnings name it.
var differentStart = time.Date(2026, time.January, 2, 3, 4, 5, 6000, time.UTC)

// listedDifferences holds, for each operation of spansThatDiffer, how what OTLP shows becomes what
// the protocol of port 14250 shows.
var listedDifferences = map[string]func(s *harness.Shown){
	"no end":                sayItsOwnEnd,
	"ends before it begins": sayItsOwnEnd,
	"no start": func(s *harness.Shown) {
		s.Start, s.Duration = s.Duration, 0 // not from 1970 to its end, but at its end
		s.Warnings = warnedOfNoDuration(differentStart.Add(time.Millisecond))
	},
	"new HTTP code": func(s *harness.Shown) {
		replace(s.Tags, "http.response.status_code int64 204", "http.status_code int64 204")
	},
	"HTTP 500 without a status": func(s *harness.Shown) {
		s.Tags = append(s.Tags, "error bool true", "otel.status_code string ERROR")
	},
	"HTTP 404 of a client without a status": func(s *harness.Shown) {
		s.Tags = append(s.Tags, "error bool true", "otel.status_code string ERROR")
	},
	"attributes that name a status": func(s *harness.Shown) {
		replace(s.Tags, "otel.status_code string OK", "otel.status_code string ERROR")
	},
	"old names of a process": func(s *harness.Shown) {
		replace(s.Process, "hostname string node-1", "host.name string node-1")
		replace(s.Process, "jaeger.version string 9", "opencensus.exporterversion string Jaeger-9")
	},
}

// sayItsOwnEnd: the exporter has corrected the end already when Jaeger does and says from what.
func sayItsOwnEnd(s *harness.Shown) { s.Warnings = warnedOfNoDuration(differentStart) }

func warnedOfNoDuration(at time.Time) []string {
	return []string{fmt.Sprintf("Negative duration detected, sanitizing end timestamp. Original end timestamp: %s, adjusted to: %s",
		at, at.Add(1))}
}

func replace(tags []string, from, to string) {
	if i := slices.Index(tags, from); i >= 0 {
		tags[i] = to
	}
}

// spansThatDiffer returns a trace for each line of listedDifferences.
func spansThatDiffer() ptrace.Traces {
	td := ptrace.NewTraces()
	start := pcommon.NewTimestampFromTime(differentStart)
	add := func(name string) (ptrace.Span, pcommon.Map) {
		rs := td.ResourceSpans().AppendEmpty()
		rs.Resource().Attributes().PutStr("service.name", "differences")
		rs.Resource().Attributes().PutStr("run.id", "differences")
		ss := rs.ScopeSpans().AppendEmpty()
		ss.Scope().Attributes().PutStr("scope attribute", "here")
		span := ss.Spans().AppendEmpty()
		id := byte(td.ResourceSpans().Len())
		span.SetTraceID(pcommon.TraceID{4, id})
		span.SetSpanID(pcommon.SpanID{4, id})
		span.SetName(name)
		span.SetStartTimestamp(start)
		span.SetEndTimestamp(start + 1_000_000)
		return span, rs.Resource().Attributes()
	}
	span, _ := add("no end")
	span.SetEndTimestamp(0)
	span, _ = add("ends before it begins")
	span.SetEndTimestamp(start - 1)
	span, _ = add("no start")
	span.SetStartTimestamp(0)
	span, _ = add("new HTTP code")
	span.Attributes().PutInt("http.response.status_code", 204)
	span, _ = add("HTTP 500 without a status")
	span.Attributes().PutInt("http.status_code", 500)
	span, _ = add("HTTP 404 of a client without a status")
	span.SetKind(ptrace.SpanKindClient)
	span.Attributes().PutInt("http.status_code", 404)
	span, _ = add("attributes that name a status")
	span.Attributes().PutBool("error", true)
	span.Attributes().PutStr("otel.status_code", "OK")
	_, process := add("old names of a process")
	process.PutStr("hostname", "node-1")
	process.PutStr("jaeger.version", "9")
	return td
}
