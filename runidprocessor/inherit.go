package runidprocessor

import (
	"fmt"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// twoRuns stands for the run of a trace whose spans in this request name two.
const twoRuns decision = -3

// decideRest decides and tags the spans that readAll left: they inherit a run from their trace, or
// get what the fallback says. The error refuses the request. It comes after all of the request was
// read, so that the order of the spans in it does not matter.
func (q *request) decideRest(td ptrace.Traces) error {
	if q.undecided == 0 {
		return nil
	}
	var inRequest map[pcommon.TraceID]decision
	if q.p.memory != nil {
		inRequest = q.runsOfUndecidedTraces(td)
	}
	q.undecided = 0
	var rejection error
	q.eachSpan(td, func(n int, r *resource, of pcommon.Map, span ptrace.Span) {
		if q.decisions[n] != undecided {
			return
		}
		d, from := q.inherited(span.TraceID(), inRequest), sourceTrace
		if d < 0 {
			switch q.p.cfg.Fallback.Action {
			case FallbackDrop:
				q.refused[refusedNoRun]++
				q.decisions[n] = removed
				return
			case FallbackReject:
				q.undecided++
				if rejection == nil {
					rejection = q.rejection(span, r)
				}
				return
			case FallbackAssign:
				d, from = q.index(q.p.cfg.Fallback.ID), sourceFallback
			}
		}
		q.decisions[n] = d
		m := span.Attributes()
		var a attributes
		a.read(m)
		q.tag(m, of, &a, d, r, from)
	})
	if rejection != nil {
		q.refused[refusedRequest] = len(q.decisions) - q.refused[refusedTraceID] - q.refused[refusedSpanID]
		q.bySource = [numSources]int{}
	}
	return rejection
}

// rejection is the error for a request in which span names no run. A permanent one: the client
// must not send the same again.
func (q *request) rejection(span ptrace.Span, r *resource) error {
	return consumererror.NewPermanent(status.Error(codes.InvalidArgument, fmt.Sprintf(
		"run_id: the request was refused because span %q of service %q names no run: "+
			"set run.id in the producer's OTEL_RESOURCE_ATTRIBUTES, or fallback::action of the processor to assign",
		span.Name(), r.service)))
}

// runsOfUndecidedTraces returns the runs that spans of this request name for the traces of its
// undecided spans. They are in the memory too, but may have been pushed out of it again.
func (q *request) runsOfUndecidedTraces(td ptrace.Traces) map[pcommon.TraceID]decision {
	runs := make(map[pcommon.TraceID]decision, q.undecided)
	q.eachSpan(td, func(n int, _ *resource, _ pcommon.Map, span ptrace.Span) {
		if q.decisions[n] == undecided {
			runs[span.TraceID()] = undecided
		}
	})
	q.eachSpan(td, func(n int, _ *resource, _ pcommon.Map, span ptrace.Span) {
		d := q.decisions[n]
		if d < 0 {
			return
		}
		switch known, asked := runs[span.TraceID()]; {
		case !asked || known == d:
		case known == undecided:
			runs[span.TraceID()] = d
		default:
			runs[span.TraceID()] = twoRuns
		}
	})
	return runs
}

// inherited returns the run that spans of trace named, in this request or before. A negative value
// means none, or more than one.
func (q *request) inherited(trace pcommon.TraceID, inRequest map[pcommon.TraceID]decision) decision {
	if q.p.memory == nil {
		return undecided
	}
	here := inRequest[trace]
	before, ok := q.p.memory.lookup(trace, q.now)
	switch {
	case !ok || here == twoRuns:
		return here
	case before == nil:
		return twoRuns
	}
	d := q.index(*before)
	if here >= 0 && here != d {
		return twoRuns
	}
	return d
}

// eachSpan calls f for every span of td with its number in q.decisions, its resource, and the
// attributes of that.
func (q *request) eachSpan(td ptrace.Traces, f func(n int, r *resource, of pcommon.Map, span ptrace.Span)) {
	n := 0
	for i, rs := range td.ResourceSpans().All() {
		for _, scope := range rs.ScopeSpans().All() {
			for _, span := range scope.Spans().All() {
				f(n, &q.resources[i], rs.Resource().Attributes(), span)
				n++
			}
		}
	}
}
