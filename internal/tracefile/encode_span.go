package tracefile

import (
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"
)

// noLimit is the limit of an object that may have any length.
const noLimit = math.MaxInt

// The order of the keys below is that of the collector's marshaler, and part of the file's contract:
// readers search for raw bytes such as `"status":{`, which stands in every span.

// appendTraces appends one object. It gives up, with false, as soon as the object is longer than
// limit bytes, so that a request of any size costs at most one line of work before it is split.
func (e *Encoder) appendTraces(dst []byte, rss resources, limit int) ([]byte, bool) {
	start := len(dst)
	if rss.len() == 0 {
		return append(dst, "{}"...), true
	}
	dst = append(dst, `{"resourceSpans":`...)
	sep := byte('[')
	for i := range rss.len() {
		rs := rss.at(i)
		dst = append(dst, sep)
		sep = ','
		dst = e.appendResourceHead(dst, rs)
		sss := rs.ScopeSpans()
		for j := range sss.Len() {
			ss := sss.At(j)
			dst = appendItemStart(dst, j, `,"scopeSpans":[`)
			dst = e.appendScopeHead(dst, ss)
			spans := ss.Spans()
			for k := range spans.Len() {
				dst = appendItemStart(dst, k, `,"spans":[`)
				dst = e.appendSpan(dst, spans.At(k))
				if len(dst)-start > limit {
					return dst, false
				}
			}
			dst = appendTail(dst, spans.Len() > 0, ss.SchemaUrl())
		}
		dst = appendTail(dst, sss.Len() > 0, rs.SchemaUrl())
	}
	dst = append(dst, "]}"...)
	return dst, len(dst)-start <= limit
}

// appendTail closes the list, if there is one, and the object around it, whose last key is the
// schema URL.
func appendTail(dst []byte, list bool, schemaURL string) []byte {
	if list {
		dst = append(dst, ']')
	}
	if schemaURL != "" {
		dst = append(dst, `,"schemaUrl":`...)
		dst = appendString(dst, schemaURL)
	}
	return append(dst, '}')
}

func (e *Encoder) appendResourceHead(dst []byte, rs ptrace.ResourceSpans) []byte {
	res := rs.Resource()
	dst = append(dst, `{"resource":`...)
	start := len(dst)
	dst = e.appendAttributes(dst, res.Attributes())
	dst = appendCount(dst, `,"droppedAttributesCount":`, res.DroppedAttributesCount())
	dst = appendEntityRefs(dst, entity.ResourceEntityRefs(res))
	return closeObject(dst, start)
}

func appendEntityRefs(dst []byte, refs entity.EntityRefSlice) []byte {
	if refs.Len() == 0 {
		return dst
	}
	for i := range refs.Len() {
		ref := refs.At(i)
		dst = appendItemStart(dst, i, `,"entityRefs":[`)
		start := len(dst)
		dst = appendText(dst, `,"schemaUrl":`, ref.SchemaUrl())
		dst = appendText(dst, `,"type":`, ref.Type())
		dst = appendKeys(dst, `,"idKeys":[`, ref.IdKeys())
		dst = appendKeys(dst, `,"descriptionKeys":[`, ref.DescriptionKeys())
		dst = closeObject(dst, start)
	}
	return append(dst, ']')
}

func appendKeys(dst []byte, listStart string, keys pcommon.StringSlice) []byte {
	if keys.Len() == 0 {
		return dst
	}
	for i := range keys.Len() {
		dst = appendItemStart(dst, i, listStart)
		dst = appendString(dst, keys.At(i))
	}
	return append(dst, ']')
}

func (e *Encoder) appendScopeHead(dst []byte, ss ptrace.ScopeSpans) []byte {
	scope := ss.Scope()
	dst = append(dst, `{"scope":`...)
	start := len(dst)
	dst = appendText(dst, `,"name":`, scope.Name())
	dst = appendText(dst, `,"version":`, scope.Version())
	dst = e.appendAttributes(dst, scope.Attributes())
	dst = appendCount(dst, `,"droppedAttributesCount":`, scope.DroppedAttributesCount())
	return closeObject(dst, start)
}

func (e *Encoder) appendSpan(dst []byte, span ptrace.Span) []byte {
	start := len(dst)
	dst = appendTraceID(dst, `,"traceId":"`, span.TraceID())
	dst = appendSpanID(dst, `,"spanId":"`, span.SpanID())
	dst = appendText(dst, `,"traceState":`, span.TraceState().AsRaw())
	dst = appendSpanID(dst, `,"parentSpanId":"`, span.ParentSpanID())
	dst = appendCount(dst, `,"flags":`, span.Flags())
	dst = appendText(dst, `,"name":`, span.Name())
	dst = appendEnum(dst, `,"kind":`, int32(span.Kind()))
	dst = appendTime(dst, `,"startTimeUnixNano":"`, span.StartTimestamp())
	dst = appendTime(dst, `,"endTimeUnixNano":"`, span.EndTimestamp())
	dst = e.appendAttributes(dst, span.Attributes())
	dst = appendCount(dst, `,"droppedAttributesCount":`, span.DroppedAttributesCount())
	dst = e.appendEvents(dst, span.Events())
	dst = appendCount(dst, `,"droppedEventsCount":`, span.DroppedEventsCount())
	dst = e.appendLinks(dst, span.Links())
	dst = appendCount(dst, `,"droppedLinksCount":`, span.DroppedLinksCount())
	dst = appendStatus(dst, span.Status())
	return closeObject(dst, start)
}

func (e *Encoder) appendEvents(dst []byte, events ptrace.SpanEventSlice) []byte {
	if events.Len() == 0 {
		return dst
	}
	for i := range events.Len() {
		event := events.At(i)
		dst = appendItemStart(dst, i, `,"events":[`)
		start := len(dst)
		dst = appendTime(dst, `,"timeUnixNano":"`, event.Timestamp())
		dst = appendText(dst, `,"name":`, event.Name())
		dst = e.appendAttributes(dst, event.Attributes())
		dst = appendCount(dst, `,"droppedAttributesCount":`, event.DroppedAttributesCount())
		dst = closeObject(dst, start)
	}
	return append(dst, ']')
}

func (e *Encoder) appendLinks(dst []byte, links ptrace.SpanLinkSlice) []byte {
	if links.Len() == 0 {
		return dst
	}
	for i := range links.Len() {
		link := links.At(i)
		dst = appendItemStart(dst, i, `,"links":[`)
		start := len(dst)
		dst = appendTraceID(dst, `,"traceId":"`, link.TraceID())
		dst = appendSpanID(dst, `,"spanId":"`, link.SpanID())
		dst = appendText(dst, `,"traceState":`, link.TraceState().AsRaw())
		dst = e.appendAttributes(dst, link.Attributes())
		dst = appendCount(dst, `,"droppedAttributesCount":`, link.DroppedAttributesCount())
		dst = appendCount(dst, `,"flags":`, link.Flags())
		dst = closeObject(dst, start)
	}
	return append(dst, ']')
}

func appendStatus(dst []byte, status ptrace.Status) []byte {
	dst = append(dst, `,"status":`...)
	start := len(dst)
	dst = appendText(dst, `,"message":`, status.Message())
	dst = appendEnum(dst, `,"code":`, int32(status.Code()))
	return closeObject(dst, start)
}
