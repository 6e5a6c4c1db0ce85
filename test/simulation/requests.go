package simulation

import (
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

const (
	maxBatch    = 512 // spans in a request, as in the SDKs' batch processors
	resendEvery = 5   // every so many requests a process that resends does so
)

// Request is what a process sends at a time.
type Request struct {
	// At is when it is sent, from the start of the run.
	At time.Duration
	// Process that sends it.
	Process *Process
	// Traces are its spans. They are shared: not to be changed.
	Traces ptrace.Traces
}

// pack makes the requests of the run: each process sends what has ended since the last time.
func (r *Run) pack(s *sim) {
	type batch struct {
		at    time.Duration
		spans []*span
	}
	for _, p := range s.processes {
		var batches []batch
		for _, sp := range s.spans {
			if sp.process != p {
				continue
			}
			at := (sp.end/p.flush + 1) * p.flush
			if p.killed > 0 && at > p.killed {
				continue // the spans are in the order of their ends: it and those that follow are lost
			}
			if n := len(batches); n == 0 || batches[n-1].at != at || len(batches[n-1].spans) == maxBatch {
				batches = append(batches, batch{at: at})
			}
			last := &batches[len(batches)-1]
			last.spans = append(last.spans, sp)
		}
		for i := range batches {
			spans := batches[i].spans
			if p.resends && i > 0 && i%resendEvery == 0 {
				// It gave up on the last request too early, and put its spans back among the new ones.
				spans = append(slices.Clone(batches[i-1].spans), spans...)
			}
			for _, sp := range spans {
				sp.copies++
			}
			r.Requests = append(r.Requests, Request{r.scale(batches[i].at), p, r.traces(p, spans)})
		}
	}
	slices.SortStableFunc(r.Requests, func(a, b Request) int { return cmp.Compare(a.At, b.At) })
	for _, sp := range s.spans {
		if sp.copies > 0 {
			r.spans = append(r.spans, sp)
		}
	}
}

// scale returns a time of the run at its speed.
func (r *Run) scale(at time.Duration) time.Duration {
	return time.Duration(float64(at) / r.set.Speed)
}

// time returns what the clock of a process shows at a time of the run.
func (r *Run) time(p *Process, at time.Duration) time.Time {
	return r.Start.Add(r.scale(at) + p.Clock)
}

func (r *Run) traces(p *Process, spans []*span) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	put(rs.Resource().Attributes(), p.resource(r.ID))
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName(p.scope)
	ss.Spans().EnsureCapacity(len(spans))
	for _, sp := range spans {
		r.fill(ss.Spans().AppendEmpty(), sp)
	}
	return td
}

func (r *Run) fill(to ptrace.Span, sp *span) {
	to.SetTraceID(sp.trace)
	to.SetSpanID(sp.id)
	to.SetParentSpanID(sp.parent)
	to.SetName(sp.name)
	to.SetKind(sp.kind)
	to.SetStartTimestamp(pcommon.NewTimestampFromTime(r.time(sp.process, sp.start)))
	end := pcommon.NewTimestampFromTime(r.time(sp.process, sp.end))
	to.SetEndTimestamp(end)
	put(to.Attributes(), sp.attrs)
	if !sp.failed {
		return
	}
	to.Status().SetCode(ptrace.StatusCodeError)
	to.Status().SetMessage(sp.failure)
	if sp.exception != "" {
		e := to.Events().AppendEmpty()
		e.SetName("exception")
		e.SetTimestamp(end)
		put(e.Attributes(), []attribute{
			{"exception.type", sp.exception},
			{"exception.message", sp.failure},
		})
	}
}

func put(to pcommon.Map, attrs []attribute) {
	to.EnsureCapacity(len(attrs))
	for _, a := range attrs {
		if err := to.PutEmpty(a.key).FromRaw(a.value); err != nil {
			panic(err) // a type that attribute does not name
		}
	}
}
