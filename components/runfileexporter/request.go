package runfileexporter

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/runspan/runspan/internal/runid"
	"github.com/runspan/runspan/internal/tracefile"
)

// writersARequest bounds the files that one request is written to at the same time. With durability
// sync each is an fsync: one after the other, 200 runs would take a second and more.
const writersARequest = 16

// request is one request on its way into files. It is used again, so that 200 runs in a request cost
// no 200 maps.
type request struct {
	encoder tracefile.Encoder
	parts   []part
	byRun   map[tracefile.PathValues]int // to its part
	indices []int                        // of resources, part after part
	partOf  []int                        // of each resource

	// mayBeRead says that a write that hangs may still be reading the lines.
	mayBeRead bool
}

// part is what goes into one file.
type part struct {
	values    tracefile.PathValues
	resources []int // nil: all
	count     int   // of resources
	lines     [][]byte
	spans     int // in lines
	tooLong   error
	written   int // lines
	err       error
}

func newRequest(maxLineBytes int) *request {
	return &request{
		encoder: tracefile.Encoder{MaxLineBytes: maxLineBytes},
		byRun:   map[tracefile.PathValues]int{},
	}
}

func (r *request) forget() {
	clear(r.parts)
	r.parts = r.parts[:0]
	clear(r.byRun)
}

// split finds out which resources go into which file. Behind the run_id processor a resource holds the
// spans of one run, so that no resource has to be taken apart.
func (r *request) split(td ptrace.Traces, template *tracefile.PathTemplate) {
	if !template.HasPlaceholders() {
		r.parts = append(r.parts, part{})
		return
	}
	all := td.ResourceSpans()
	r.partOf = slices.Grow(r.partOf[:0], all.Len())
	for i := range all.Len() {
		values := template.Used(valuesOf(all.At(i).Resource().Attributes()))
		n, ok := r.byRun[values]
		if !ok {
			n = len(r.parts)
			r.byRun[values] = n
			r.parts = append(r.parts, part{values: values})
		}
		r.parts[n].count++
		r.partOf = append(r.partOf, n)
	}
	if len(r.parts) == 1 {
		return
	}
	r.indices = slices.Grow(r.indices[:0], all.Len())[:all.Len()]
	from := 0
	for i := range r.parts {
		p := &r.parts[i]
		p.resources = r.indices[from : from : from+p.count]
		from += p.count
	}
	for i, n := range r.partOf {
		p := &r.parts[n]
		p.resources = append(p.resources, i)
	}
}

// valuesOf returns what the placeholders stand for.
func valuesOf(resource pcommon.Map) tracefile.PathValues {
	values := tracefile.PathValues{Run: runid.Unassigned, Service: runid.UnknownService}
	if v, ok := resource.Get(runid.AttributeRunID); ok {
		values.Run = v.AsString()
	}
	if v, ok := resource.Get(runid.AttributeServiceName); ok {
		values.Service = v.AsString()
	}
	return values
}

func (r *request) encode(td ptrace.Traces) {
	r.encoder.Begin(td)
	defer r.encoder.End()
	for i := range r.parts {
		p := &r.parts[i]
		p.lines, p.tooLong = r.encoder.EncodePart(p.resources)
		p.spans = spansIn(td, p.resources)
		if long, ok := errors.AsType[*tracefile.LineTooLongError](p.tooLong); ok {
			p.spans -= long.Spans
		}
	}
}

func spansIn(td ptrace.Traces, resources []int) int {
	if resources == nil {
		return td.SpanCount()
	}
	n := 0
	for _, i := range resources {
		for _, ss := range td.ResourceSpans().At(i).ScopeSpans().All() {
			n += ss.Spans().Len()
		}
	}
	return n
}

// write appends the lines of each part to its file. What fits into a line is written also where
// another span of its part does not: no retry will bring that one.
func (r *request) write(ctx context.Context, files *tracefile.Files) {
	var next atomic.Int64
	work := func() {
		for {
			i := int(next.Add(1)) - 1
			if i >= len(r.parts) {
				return
			}
			if p := &r.parts[i]; len(p.lines) > 0 {
				p.written, p.err = files.Append(ctx, p.values, p.lines...)
			}
		}
	}
	var others sync.WaitGroup
	for range min(len(r.parts), writersARequest) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	r.mayBeRead = slices.ContainsFunc(r.parts, func(p part) bool { return p.err != nil })
}

// rest returns the spans of the files that could not be written.
func (r *request) rest(td ptrace.Traces) ptrace.Traces {
	rest := ptrace.NewTraces()
	for _, p := range r.parts {
		if p.err == nil {
			continue
		}
		for _, i := range p.resources {
			td.ResourceSpans().At(i).CopyTo(rest.ResourceSpans().AppendEmpty())
		}
	}
	return rest
}
