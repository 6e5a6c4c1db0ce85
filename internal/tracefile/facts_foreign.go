package tracefile

import (
	"encoding/base64"
	"math"
	"slices"
	"strconv"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/runspan/runspan/internal/runid"
)

// foreignFacts reads the facts of lines in any valid OTLP/JSON: keys in any order and in either case,
// white space, numbers as numbers or as strings. What is rare or doubtful (a key that is there twice, or
// that OTLP does not know, a null) it leaves to the decoder, so that it never has to know what the
// decoder makes of it.
type foreignFacts struct {
	cursor
	names   *names
	facts   *Facts
	scratch []byte
}

// maxForeignDepth bounds the values inside each other: each level is a level of the stack.
const maxForeignDepth = 100

func (f *foreignFacts) read(facts *Facts, names *names, line []byte) bool {
	facts.reset()
	f.facts, f.names = facts, names
	f.begin(line)
	seen := fields(0)
	for more := f.openObject(); more; more = f.nextField() {
		switch string(f.key()) {
		case "resourceSpans", "resource_spans":
			f.once(&seen, 0)
			for more := f.openList(); more; more = f.nextItem() {
				f.resourceSpans()
			}
		default:
			f.fail()
		}
	}
	f.space()
	if cap(f.scratch) > 1<<20 {
		f.scratch = nil // blown up by one huge line
	}
	return f.over() && len(facts.Spans) > 0
}

// fields has a bit for each field of an object that was there.
type fields uint32

// once notes a field and gives up where it is there twice.
func (f *foreignFacts) once(seen *fields, field int) {
	if *seen&(1<<field) != 0 {
		f.fail()
	}
	*seen |= 1 << field
}

func (f *foreignFacts) resourceSpans() {
	var own found
	first := len(f.facts.Spans)
	f.facts.Processes = append(f.facts.Processes, Process{})
	process := len(f.facts.Processes) - 1
	seen := fields(0)
	for more := f.openObject(); more; more = f.nextField() {
		switch string(f.key()) {
		case "resource":
			f.once(&seen, 0)
			f.resource(&own)
		case "scopeSpans", "scope_spans":
			f.once(&seen, 1)
			for more := f.openList(); more; more = f.nextItem() {
				f.scopeSpans(process)
			}
		case "schemaUrl", "schema_url":
			f.once(&seen, 2)
			f.text()
		default:
			f.fail()
		}
	}
	if f.bad {
		return
	}
	f.facts.Processes[process] = f.names.process(&own)
	f.facts.fill(first, own.run(), own.text(factService))
}

func (f *foreignFacts) resource(own *found) {
	seen := fields(0)
	for more := f.openObject(); more; more = f.nextField() {
		switch string(f.key()) {
		case "attributes":
			f.once(&seen, 0)
			f.attributes(own)
		case "droppedAttributesCount", "dropped_attributes_count":
			f.once(&seen, 1)
			f.unsigned(math.MaxUint32)
		default:
			f.fail()
		}
	}
}

func (f *foreignFacts) scopeSpans(process int) {
	seen := fields(0)
	for more := f.openObject(); more; more = f.nextField() {
		switch string(f.key()) {
		case "spans":
			f.once(&seen, 0)
			for more := f.openList(); more; more = f.nextItem() {
				f.span(process)
			}
		case "scope":
			f.once(&seen, 1)
			f.scope()
		case "schemaUrl", "schema_url":
			f.once(&seen, 2)
			f.text()
		default:
			f.fail()
		}
	}
}

func (f *foreignFacts) scope() {
	seen := fields(0)
	for more := f.openObject(); more; more = f.nextField() {
		switch string(f.key()) {
		case "name":
			f.once(&seen, 0)
			f.text()
		case "version":
			f.once(&seen, 1)
			f.text()
		case "attributes":
			f.once(&seen, 2)
			f.attributes(nil)
		case "droppedAttributesCount", "dropped_attributes_count":
			f.once(&seen, 3)
			f.unsigned(math.MaxUint32)
		default:
			f.fail()
		}
	}
}

func (f *foreignFacts) span(process int) {
	var own found
	var ignored [16]byte
	span := SpanFacts{Process: process}
	seen := fields(0)
	for more := f.openObject(); more; more = f.nextField() {
		switch string(f.key()) {
		case "traceId", "trace_id":
			f.once(&seen, 0)
			f.id(span.Trace[:])
		case "spanId", "span_id":
			f.once(&seen, 1)
			f.id(ignored[:8])
		case "parentSpanId", "parent_span_id":
			f.once(&seen, 2)
			f.id(ignored[:8])
		case "name":
			f.once(&seen, 3)
			f.text()
		case "kind":
			f.once(&seen, 4)
			f.enumValue(spanKinds[:])
		case "startTimeUnixNano", "start_time_unix_nano":
			f.once(&seen, 5)
			span.Start = f.unsigned(math.MaxUint64)
		case "endTimeUnixNano", "end_time_unix_nano":
			f.once(&seen, 6)
			span.End = f.unsigned(math.MaxUint64)
		case "attributes":
			f.once(&seen, 7)
			f.attributes(&own)
		case "status":
			f.once(&seen, 8)
			span.Failed = f.status()
		case "events":
			f.once(&seen, 9)
			for more := f.openList(); more; more = f.nextItem() {
				f.event()
			}
		case "links":
			f.once(&seen, 10)
			for more := f.openList(); more; more = f.nextItem() {
				f.link()
			}
		case "traceState", "trace_state":
			f.once(&seen, 11)
			f.text()
		case "flags":
			f.once(&seen, 12)
			f.unsigned(math.MaxUint32)
		case "droppedAttributesCount", "dropped_attributes_count":
			f.once(&seen, 13)
			f.unsigned(math.MaxUint32)
		case "droppedEventsCount", "dropped_events_count":
			f.once(&seen, 14)
			f.unsigned(math.MaxUint32)
		case "droppedLinksCount", "dropped_links_count":
			f.once(&seen, 15)
			f.unsigned(math.MaxUint32)
		default:
			f.fail()
		}
	}
	if f.bad {
		return
	}
	span.Run, span.Service = own.run(), own.text(factService)
	f.facts.Spans = append(f.facts.Spans, span)
}

func (f *foreignFacts) status() (failed bool) {
	seen := fields(0)
	for more := f.openObject(); more; more = f.nextField() {
		switch string(f.key()) {
		case "code":
			f.once(&seen, 0)
			failed = f.enumValue(statusCodes[:]) == int64(ptrace.StatusCodeError)
		case "message":
			f.once(&seen, 1)
			f.text()
		default:
			f.fail()
		}
	}
	return failed
}

func (f *foreignFacts) event() {
	seen := fields(0)
	for more := f.openObject(); more; more = f.nextField() {
		switch string(f.key()) {
		case "timeUnixNano", "time_unix_nano":
			f.once(&seen, 0)
			f.unsigned(math.MaxUint64)
		case "name":
			f.once(&seen, 1)
			f.text()
		case "attributes":
			f.once(&seen, 2)
			f.attributes(nil)
		case "droppedAttributesCount", "dropped_attributes_count":
			f.once(&seen, 3)
			f.unsigned(math.MaxUint32)
		default:
			f.fail()
		}
	}
}

func (f *foreignFacts) link() {
	var ignored [16]byte
	seen := fields(0)
	for more := f.openObject(); more; more = f.nextField() {
		switch string(f.key()) {
		case "traceId", "trace_id":
			f.once(&seen, 0)
			f.id(ignored[:])
		case "spanId", "span_id":
			f.once(&seen, 1)
			f.id(ignored[:8])
		case "traceState", "trace_state":
			f.once(&seen, 2)
			f.text()
		case "attributes":
			f.once(&seen, 3)
			f.attributes(nil)
		case "droppedAttributesCount", "dropped_attributes_count":
			f.once(&seen, 4)
			f.unsigned(math.MaxUint32)
		case "flags":
			f.once(&seen, 5)
			f.unsigned(math.MaxUint32)
		default:
			f.fail()
		}
	}
}

// attributes reads a list of attributes, and finds the facts among them unless own is nil.
func (f *foreignFacts) attributes(own *found) {
	for more := f.openList(); more; more = f.nextItem() {
		f.attribute(own, 0)
	}
}

func (f *foreignFacts) attribute(own *found, depth int) {
	key, seen := factNone, fields(0)
	var value foreignValue
	for more := f.openObject(); more; more = f.nextField() {
		switch string(f.key()) {
		case "key":
			f.once(&seen, 0)
			if start := f.i + 1; own != nil && f.text() {
				key = f.names.keyOf(f.s, start, f.i-1)
			} else if own == nil {
				f.text()
			}
		case "value":
			f.once(&seen, 1)
			value = f.value(depth)
		default:
			f.fail()
		}
	}
	if key != factNone && !f.bad {
		f.putFact(own, key, value)
	}
}

// putFact notes the value of a fact. What has no text of its own is left to the decoder.
func (f *foreignFacts) putFact(own *found, key factKey, value foreignValue) {
	var of *name
	switch {
	case key == factUnclear:
	case value.kind == valueText:
		of = f.names.of(f.s, value.start, value.end)
	case value.kind == valueInt:
		text := strconv.FormatInt(value.number, 10)
		of = f.names.keep([]byte(text), text)
	}
	if of == nil {
		f.fail()
		return
	}
	own.put(key, of)
}

// foreignValue is a value as far as a fact needs it: a string s[start:end] without its quotes, or a number.
type foreignValue struct {
	kind       valueKind
	start, end int
	number     int64
}

func (f *foreignFacts) value(depth int) foreignValue {
	if depth > maxForeignDepth {
		f.fail()
	}
	v := foreignValue{kind: valueOther}
	seen := fields(0)
	for more := f.openObject(); more; more = f.nextField() {
		f.once(&seen, 0) // one of all
		switch string(f.key()) {
		case "stringValue", "string_value":
			v = foreignValue{kind: valueText, start: f.i + 1}
			f.text()
			v.end = f.i - 1
		case "intValue", "int_value":
			v = foreignValue{kind: valueInt, number: f.signed()}
		case "doubleValue", "double_value":
			f.skipDouble()
		case "boolValue", "bool_value":
			if !f.accept("true") && !f.accept("false") {
				f.fail()
			}
		case "arrayValue", "array_value":
			f.values(func() { f.value(depth + 1) })
		case "kvlistValue", "kvlist_value":
			f.values(func() { f.attribute(nil, depth+1) })
		case "bytesValue", "bytes_value":
			f.base64()
		default:
			f.fail()
		}
	}
	return v
}

func (f *foreignFacts) values(each func()) {
	seen := fields(0)
	for more := f.openObject(); more; more = f.nextField() {
		if string(f.key()) != "values" {
			f.fail()
			return
		}
		f.once(&seen, 0)
		for more := f.openList(); more; more = f.nextItem() {
			each()
		}
	}
}

func (f *foreignFacts) base64() {
	text := f.plainText()
	f.scratch = slices.Grow(f.scratch[:0], base64.StdEncoding.DecodedLen(len(text)))
	if _, err := base64.StdEncoding.Decode(f.scratch[:cap(f.scratch)], text); err != nil {
		f.fail()
	}
}

// fill gives the spans from first on the run and the service of their resource, where they name none.
func (f *Facts) fill(first int, run, service string) {
	if service == "" {
		service = runid.UnknownService
	}
	for i := first; i < len(f.Spans); i++ {
		span := &f.Spans[i]
		if span.Run == "" {
			span.Run = run
		}
		if span.Service == "" {
			span.Service = service
		}
	}
}

// spanKinds and statusCodes are the names that protobuf's JSON form allows beside the numbers.
var (
	spanKinds = [...]string{
		"SPAN_KIND_UNSPECIFIED", "SPAN_KIND_INTERNAL", "SPAN_KIND_SERVER", "SPAN_KIND_CLIENT", "SPAN_KIND_PRODUCER",
		"SPAN_KIND_CONSUMER",
	}
	statusCodes = [...]string{"STATUS_CODE_UNSET", "STATUS_CODE_OK", "STATUS_CODE_ERROR"}
)
