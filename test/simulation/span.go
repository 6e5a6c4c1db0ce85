package simulation

import (
	"encoding/binary"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// attribute is a key with a string, int64, float64, bool or []any.
type attribute struct {
	key   string
	value any
}

// span is a span on its way. Times are those of the run, before clocks and speed.
type span struct {
	process    *Process
	trace      pcommon.TraceID
	id, parent pcommon.SpanID
	name       string
	kind       ptrace.SpanKind
	path       []any // span names from the root
	start, end time.Duration
	attrs      []attribute
	failed     bool
	failure    string // the message of the status
	exception  string // the type of an exception; "" for none

	copies int // how often it is sent
}

// begin begins a span of a process below parent, nil for the root of a new trace.
func (s *sim) begin(p *Process, parent *span, name string, attrs ...attribute) *span {
	sp := &span{process: p, name: name, kind: ptrace.SpanKindInternal, start: s.now, id: s.spanID()}
	if parent == nil {
		sp.trace = s.traceID()
	} else {
		sp.trace, sp.parent, sp.path = parent.trace, parent.id, parent.path
	}
	// A new array: siblings share the parent's.
	sp.path = append(append([]any(nil), sp.path...), name)
	sp.attrs = append(sp.attrs, attrs...)
	if p.xtuner {
		sp.set("xtuner.stage", name)
		sp.set("xtuner.span_name_path", sp.path)
	} else {
		sp.kind = ptrace.SpanKindServer
	}
	return sp
}

// end ends a span now. One that does not end is never sent.
func (s *sim) end(sp *span, attrs ...attribute) {
	sp.attrs = append(sp.attrs, attrs...)
	sp.end = s.now
	s.spans = append(s.spans, sp)
}

func (sp *span) set(key string, value any) {
	for i := range sp.attrs {
		if sp.attrs[i].key == key {
			sp.attrs[i].value = value
			return
		}
	}
	sp.attrs = append(sp.attrs, attribute{key, value})
}

// fail gives the span an error status, with an exception where one is named.
func (sp *span) fail(exception, message string) {
	sp.failed, sp.exception, sp.failure = true, exception, message
	if sp.process.xtuner {
		sp.set("error", true)
		sp.set("error.message", message)
	}
	if exception != "" {
		sp.set("error.type", exception)
	}
}

func (s *sim) traceID() (id pcommon.TraceID) {
	binary.BigEndian.PutUint64(id[:8], s.rng.Uint64())
	binary.BigEndian.PutUint64(id[8:], s.rng.Uint64()|1) // never all zeros
	return id
}

func (s *sim) spanID() (id pcommon.SpanID) {
	binary.BigEndian.PutUint64(id[:], s.rng.Uint64()|1)
	return id
}
