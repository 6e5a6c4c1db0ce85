package runidprocessor

import (
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// splitter collects the spans of one resource that belong to other runs than its first span, one
// copy of the resource for each run, scopes and order kept.
type splitter struct {
	from ptrace.ResourceSpans
	runs []string // in the order in which they were met, so that the output does not vary
	byID map[string]*part
}

// part is what one run gets of a resource.
type part struct {
	resource  ptrace.ResourceSpans
	fromScope int // the index of the source scope that the last scope of resource copies
}

func newSplitter(from ptrace.ResourceSpans) *splitter {
	return &splitter{from: from, byID: map[string]*part{}}
}

// spansOf returns the list for spans of run that come from scope, the scope with index j.
func (s *splitter) spansOf(run string, j int, scope ptrace.ScopeSpans) ptrace.SpanSlice {
	p, ok := s.byID[run]
	if !ok {
		p = &part{resource: ptrace.NewResourceSpans(), fromScope: -1}
		s.from.Resource().CopyTo(p.resource.Resource())
		p.resource.SetSchemaUrl(s.from.SchemaUrl())
		s.byID[run] = p
		s.runs = append(s.runs, run)
	}
	scopes := p.resource.ScopeSpans()
	if p.fromScope != j {
		p.fromScope = j
		to := scopes.AppendEmpty()
		scope.Scope().CopyTo(to.Scope())
		to.SetSchemaUrl(scope.SchemaUrl())
	}
	return scopes.At(scopes.Len() - 1).Spans()
}

// appendTo tags the parts and appends them to all.
func (s *splitter) appendTo(all ptrace.ResourceSpansSlice, service string) {
	all.EnsureCapacity(all.Len() + len(s.runs))
	for _, run := range s.runs {
		tag(s.byID[run].resource.Resource().Attributes(), service, run)
		s.byID[run].resource.MoveTo(all.AppendEmpty())
	}
}
