package runidprocessor

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// decision is what was decided about a span: the index of its run in request.runs, or one of the
// negative values below.
type decision int32

const (
	undecided decision = -1
	removed   decision = -2 // not passed on
)

// refused says why a span is not passed on.
type refused uint8

const (
	refusedTraceID refused = iota
	refusedSpanID
	refusedNoRun
	refusedRequest
	numRefused
)

var refusedNames = [numRefused]string{
	refusedTraceID: "no_trace_id",
	refusedSpanID:  "no_span_id",
	refusedNoRun:   "no_run",
	refusedRequest: "request_rejected",
}

// request is the work on one request. It is used again for later ones: its slices and maps keep
// their room.
type request struct {
	p        *runIDProcessor
	now      time.Duration
	metadata string // the run that the headers name

	runs  []namedRun
	byRun map[string]decision
	last  decision // the run that was met last: the next span mostly has the same

	decisions []decision // one a span, in the order of the request
	resources []resource
	taught    [taughtSize]taught
	lastTrace pcommon.TraceID // what was taught last, of lastRun
	lastRun   decision
	lessons   []lesson // not told to the memory yet
	splitter  splitter

	// What is counted goes to the metrics once a request: a counter costs 100 ns, a plain int none.
	bySource  [numSources]int
	ignored   [numIgnored]int
	refused   [numRefused]int
	undecided int
}

// namedRun is a run that a request names.
type namedRun struct {
	id     string
	shared *string // the trace memory's copy; nil: not asked for yet
}

// resource is what is known of one resource of a request.
type resource struct {
	names      names
	service    string
	from, to   int  // its spans are request.decisions[from:to]
	emptyScope bool // it has a scope without spans, or no scope
}

// taughtSize is how many traces a request keeps in mind of those whose run it told the memory:
// spans of one trace come together or nearly so, and the memory costs a lock. What 7 bits tell apart.
const taughtSize = 1 << 7

type taught struct {
	trace pcommon.TraceID
	again decision // the run + 1; 0: none
}

func newRequest(p *runIDProcessor) *request {
	return &request{p: p, byRun: map[string]decision{}, lessons: make([]lesson, 0, maxLessons)}
}

func (q *request) begin(ctx context.Context) {
	cfg := &q.p.cfg.Sources
	if cfg.Metadata.Enabled {
		q.metadata = runOfRequest(client.FromContext(ctx).Metadata, &cfg.Metadata, q.p.judge, &q.ignored)
	}
	if q.p.memory != nil {
		q.now = q.p.clock()
	}
}

// release forgets everything of the request, so that it keeps none of its data alive.
func (q *request) release() {
	clear(q.runs)
	clear(q.byRun)
	clear(q.resources)
	q.splitter.reset()
	clear(q.taught[:])
	q.runs, q.decisions, q.resources = q.runs[:0], q.decisions[:0], q.resources[:0]
	q.last, q.undecided, q.metadata = 0, 0, ""
	q.lastTrace = pcommon.TraceID{}
	q.bySource, q.ignored, q.refused = [numSources]int{}, [numIgnored]int{}, [numRefused]int{}
	q.p.requests.Put(q)
}

// readAll decides and tags every span whose run is named by itself, its resource or the headers.
func (q *request) readAll(td ptrace.Traces) {
	for i, all := 0, td.ResourceSpans(); i < all.Len(); i++ {
		rs := all.At(i)
		r := q.readResource(rs.Resource().Attributes())
		r.from = len(q.decisions)
		scopes := rs.ScopeSpans()
		r.emptyScope = scopes.Len() == 0
		for j := 0; j < scopes.Len(); j++ {
			spans := scopes.At(j).Spans()
			if spans.Len() == 0 {
				r.emptyScope = true
			}
			for k := 0; k < spans.Len(); k++ {
				q.decisions = append(q.decisions, q.readSpan(spans.At(k), rs.Resource().Attributes(), &r))
			}
		}
		r.to = len(q.decisions)
		q.resources = append(q.resources, r)
	}
	q.teach()
}

func (q *request) readResource(m pcommon.Map) resource {
	p := q.p
	var a attributes
	a.read(m)
	var r resource
	r.service = a.serviceName()
	if a.hasRun && p.cfg.Sources.Resource.Enabled {
		r.names.own = q.runOf(a.run)
	}
	if r.names.own != "" {
		return r
	}
	r.names.alias = p.aliases.first(m, p.judge, &q.ignored)
	if r.names.alias == "" {
		r.names.alias = p.resourceAliases.first(m, p.judge, &q.ignored)
	}
	return r
}

// readSpan decides which run a span belongs to and tags it, if that can be said yet.
func (q *request) readSpan(span ptrace.Span, of pcommon.Map, r *resource) decision {
	p := q.p
	trace := span.TraceID()
	if trace.IsEmpty() {
		q.refused[refusedTraceID]++
		return removed
	}
	if span.SpanID().IsEmpty() {
		q.refused[refusedSpanID]++
		return removed
	}

	m := span.Attributes()
	var a attributes
	a.read(m)
	var n names
	if a.hasRun && p.cfg.Sources.Span.Enabled {
		n.own = q.runOf(a.run)
	}
	if n.own == "" && r.names.own == "" { // both win over an alias
		n.alias = p.aliases.first(m, p.judge, &q.ignored)
	}
	id, from := resolve(n, r.names, q.metadata)
	if from == sourceNone {
		q.undecided++
		return undecided
	}
	d := q.index(id)
	q.tag(m, of, &a, d, r, from)
	q.learn(trace, d)
	return d
}

// tag writes the decision on a span with the attributes m, of which a is what was read.
func (q *request) tag(m, of pcommon.Map, a *attributes, d decision, r *resource, from source) {
	q.bySource[from]++
	t := &q.p.tagger
	t.span(m, a, q.runs[d].id, r.service, from)
	if len(t.copyToSpans) > 0 {
		t.copies(of, m)
	}
}

// runOf returns the run id that v holds, or "". What is no run id is counted.
func (q *request) runOf(v pcommon.Value) string {
	if len(q.runs) > 0 && v.Str() == q.runs[q.last].id {
		return q.runs[q.last].id // judged before
	}
	id, why := q.p.judge.value(v)
	if why != notIgnored {
		q.ignored[why]++
	}
	return id
}

// index returns the index of a run in q.runs.
func (q *request) index(id string) decision {
	if len(q.runs) > 0 && q.runs[q.last].id == id {
		return q.last
	}
	d, ok := q.byRun[id]
	if !ok {
		d = decision(len(q.runs))
		q.runs = append(q.runs, namedRun{id: id})
		q.byRun[id] = d
	}
	q.last = d
	return d
}

// learn notes for the memory that a span of trace, which is not zero, named the run d.
func (q *request) learn(trace pcommon.TraceID, d decision) {
	if q.p.memory == nil || trace == q.lastTrace && d == q.lastRun {
		return
	}
	q.lastTrace, q.lastRun = trace, d
	hash := q.p.memory.hash(trace)
	t := &q.taught[hash>>57]
	if t.again == d+1 && t.trace == trace {
		return
	}
	t.trace, t.again = trace, d+1
	q.lessons = append(q.lessons, lesson{trace: trace, hash: hash, run: d})
	if len(q.lessons) == maxLessons {
		q.teach()
	}
}

// teach tells the memory what was noted for it.
func (q *request) teach() {
	if len(q.lessons) > 0 {
		q.p.memory.learn(q.lessons, q.runs, q.now)
		q.lessons = q.lessons[:0]
	}
}
