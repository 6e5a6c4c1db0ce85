package tracefile

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Facts are what a catalogue of runs needs to know of lines: of each span where it belongs, when it
// was and whether it failed, and nothing else.
type Facts struct {
	Spans     []SpanFacts
	Processes []Process
}

// SpanFacts are those of one span. Run and Service are as in [RunSpan].
type SpanFacts struct {
	Run, Service string
	// Process is the index of the process that sent the span in Facts.Processes.
	Process int
	Trace   pcommon.TraceID
	// Start and End are in nanoseconds since 1970, 0 where the span does not say.
	Start, End uint64
	Failed     bool // with an error status
}

// Process says which process sent the spans of a resource.
type Process struct {
	// Name is the value of the attribute NamedBy, with ":" and the process.pid behind it where the
	// resource has one; UnknownProcess where it has none of the attributes.
	Name string
	// NamedBy is the first of k8s.pod.name, host.name and service.instance.id that the resource has, ""
	// where it has none.
	NamedBy string
}

// UnknownProcess stands where a resource names no process.
const UnknownProcess = "unknown"

// processAttributes name a process, the best one first.
var processAttributes = [...]string{"k8s.pod.name", "host.name", "service.instance.id"}

const attributeProcessID = "process.pid"

// ProcessOf returns the process that a resource's attributes name. A name that is empty is none.
func ProcessOf(resource pcommon.Map) Process {
	var values [len(processAttributes)]string
	for i, key := range processAttributes {
		if v, ok := resource.Get(key); ok {
			values[i] = v.AsString()
		}
	}
	pid := ""
	if v, ok := resource.Get(attributeProcessID); ok {
		pid = v.AsString()
	}
	return processNamed(values, pid)
}

// processNamed returns the process with these values of processAttributes.
func processNamed(values [len(processAttributes)]string, pid string) Process {
	p := Process{Name: UnknownProcess}
	for i, value := range values {
		if value != "" {
			p = Process{Name: value, NamedBy: processAttributes[i]}
			break
		}
	}
	if pid != "" && p.NamedBy != "" {
		p.Name += ":" + pid
	}
	return p
}

// FactsReader reads the facts of lines. The zero value is ready for use. It must not be used by two
// goroutines at once.
//
// Lines as [Encoder] writes them are read at memory's pace almost, other OTLP/JSON at half of that; what
// is neither is decoded, and found to be good or bad there (docs/adr/0013-catalogue-of-runs.md).
type FactsReader struct {
	facts   Facts
	own     ownFacts
	foreign foreignFacts
	decoder Decoder
	names   names
}

// Read returns the facts of a line, with or without the newline at its end, or why it is none of a trace
// file; At of that counts from the line's start. It takes and refuses the same lines as [Scan], and finds
// the same spans in them. The facts are valid until the next call, their strings for ever. Where the
// line's capacity goes on behind its newline, up to 16 bytes there are read too, whatever they are:
// nobody may be writing to them.
func (r *FactsReader) Read(line []byte) (*Facts, *BadLineError) {
	if r.own.read(&r.facts, &r.names, line) || r.foreign.read(&r.facts, &r.names, line) {
		return &r.facts, nil
	}
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	td, _, bad := scanDecode(&r.decoder, line)
	if bad != nil {
		return nil, bad
	}
	r.facts.reset()
	r.facts.decoded(td)
	return &r.facts, nil
}

// mostFacts bounds the spans for which room is kept from line to line: 5 MB.
const mostFacts = 64 << 10

func (f *Facts) reset() {
	if cap(f.Spans) > mostFacts || cap(f.Processes) > mostFacts {
		*f = Facts{} // blown up by one huge line
	}
	f.Spans, f.Processes = f.Spans[:0], f.Processes[:0]
}

// decoded adds the facts of a decoded line.
func (f *Facts) decoded(td ptrace.Traces) {
	for _, rs := range td.ResourceSpans().All() {
		resource := rs.Resource().Attributes()
		f.Processes = append(f.Processes, ProcessOf(resource))
		run, service := runOf(resource), serviceOf(resource)
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				s := runSpan(span, run, service)
				f.Spans = append(f.Spans, SpanFacts{
					Run: s.Run, Service: s.Service, Process: len(f.Processes) - 1, Trace: span.TraceID(),
					Start: uint64(span.StartTimestamp()), End: uint64(span.EndTimestamp()),
					Failed: span.Status().Code() == ptrace.StatusCodeError,
				})
			}
		}
	}
}
