package runidprocessor

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/runspan/runspan/internal/runid"
)

// arrangeAll makes every resource hold the spans of one run and tags it. What has no spans is
// removed.
func (q *request) arrangeAll(all ptrace.ResourceSpansSlice) {
	emptied := false
	// Resources that a split appends are behind these: they are whole already.
	for i := range q.resources {
		if !q.arrange(all, i) {
			emptied = true
		}
	}
	if emptied {
		all.RemoveIf(func(rs ptrace.ResourceSpans) bool { return rs.ScopeSpans().Len() == 0 })
	}
}

// arrange tags the i-th resource of all. The run of its first span keeps the resource; the spans of
// other runs move to copies of it, which are appended to all. It returns false if no span is left.
func (q *request) arrange(all ptrace.ResourceSpansSlice, i int) bool {
	r := &q.resources[i]
	rs := all.At(i)
	decisions := q.decisions[r.from:r.to]
	first, same := firstRun(decisions)
	if first >= 0 {
		q.p.tagger.resource(rs.Resource().Attributes(), q.runs[first].id, r.service)
	}
	if !same {
		q.splitter.split(all, rs, decisions, first, q.runs)
	}
	if !same || r.emptyScope {
		rs.ScopeSpans().RemoveIf(func(s ptrace.ScopeSpans) bool { return s.Spans().Len() == 0 })
	}
	return first >= 0
}

// firstRun returns the run of the first span that is passed on, removed if there is none, and
// whether every span is passed on and has that run.
func firstRun(decisions []decision) (first decision, same bool) {
	first, same = removed, true
	for _, d := range decisions {
		if first < 0 {
			first = d
		}
		if d != first || d < 0 {
			same = false
		}
	}
	return first, same
}

// splitter moves the spans of one resource that belong to other runs than its first to copies of
// the resource: one for each run, scopes and order kept.
type splitter struct {
	parts  []part
	partOf []int // by run, the number of its part + 1; 0: none
}

// part is what one run gets of a resource.
type part struct {
	run       decision
	resource  ptrace.ResourceSpans
	fromScope int              // the number of the scope that spans were taken from last
	spans     ptrace.SpanSlice // of the copy of that scope
}

func (s *splitter) reset() {
	clear(s.parts)
	s.parts = s.parts[:0]
}

func (s *splitter) split(
	all ptrace.ResourceSpansSlice, from ptrace.ResourceSpans, decisions []decision, first decision, runs []namedRun,
) {
	if missing := len(runs) - len(s.partOf); missing > 0 {
		s.partOf = append(s.partOf, make([]int, missing)...)
	}
	copier := newResourceCopier(from)
	n := 0
	for j, scope := range from.ScopeSpans().All() {
		scope.Spans().RemoveIf(func(span ptrace.Span) bool {
			d := decisions[n]
			n++
			if d == first || d < 0 {
				return d < 0
			}
			if s.partOf[d] == 0 {
				s.parts = append(s.parts, part{run: d, resource: all.AppendEmpty(), fromScope: -1})
				s.partOf[d] = len(s.parts)
				copier.copyTo(s.parts[len(s.parts)-1].resource, runs[d].id)
			}
			span.MoveTo(s.parts[s.partOf[d]-1].of(j, scope).AppendEmpty())
			return true
		})
	}
	for i := range s.parts {
		s.partOf[s.parts[i].run] = 0
	}
	s.reset()
}

// of returns the list for spans that come from scope, the one with the number j.
func (p *part) of(j int, scope ptrace.ScopeSpans) ptrace.SpanSlice {
	if p.fromScope != j {
		p.fromScope = j
		to := p.resource.ScopeSpans().AppendEmpty()
		scope.Scope().CopyTo(to.Scope())
		to.SetSchemaUrl(scope.SchemaUrl())
		p.spans = to.Spans()
	}
	return p.spans
}

// resourceCopier makes copies of a resource that differ in the run.
type resourceCopier struct {
	from      ptrace.ResourceSpans
	template  pcommon.Resource // without the run
	withRunID bool
}

func newResourceCopier(from ptrace.ResourceSpans) *resourceCopier {
	c := &resourceCopier{from: from, template: pcommon.NewResource()}
	from.Resource().CopyTo(c.template)
	c.withRunID = removeKey(c.template.Attributes(), runid.AttributeRunID)
	return c
}

func (c *resourceCopier) copyTo(to ptrace.ResourceSpans, run string) {
	attrs := to.Resource().Attributes()
	attrs.EnsureCapacity(c.template.Attributes().Len() + 1)
	c.template.CopyTo(to.Resource())
	to.SetSchemaUrl(c.from.SchemaUrl())
	if c.withRunID {
		attrs.PutStr(runid.AttributeRunID, run)
	}
}
