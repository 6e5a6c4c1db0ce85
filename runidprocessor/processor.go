package runidprocessor

import (
	"context"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/runspan/runspan/internal/runid"
)

type runIDProcessor struct {
	rule rule
}

func newRunIDProcessor(cfg *Config) *runIDProcessor {
	return &runIDProcessor{rule: rule{fallbackID: cfg.FallbackID}}
}

// processTraces makes every resource of td hold the spans of one run and tags resources and spans.
func (p *runIDProcessor) processTraces(_ context.Context, td ptrace.Traces) (ptrace.Traces, error) {
	all := td.ResourceSpans()
	// Resources that a split appends are behind n: they are whole already.
	for i, n := 0, all.Len(); i < n; i++ {
		p.processResource(all, i)
	}
	return td, nil
}

// processResource tags the i-th resource of all. The run of its first span keeps the resource;
// spans of other runs move to copies of it, which are appended to all.
func (p *runIDProcessor) processResource(all ptrace.ResourceSpansSlice, i int) {
	rs := all.At(i)
	attrs := rs.Resource().Attributes()
	service := serviceName(attrs)
	fallback := p.rule.resolve(pcommon.NewMap(), attrs)

	var first string
	var others *splitter
	found := false
	for j := 0; j < rs.ScopeSpans().Len(); j++ {
		// Appending to all may move its elements: take them anew for each scope.
		scope := all.At(i).ScopeSpans().At(j)
		scope.Spans().RemoveIf(func(span ptrace.Span) bool {
			run := p.rule.resolve(span.Attributes(), attrs)
			tag(span.Attributes(), service, run)
			if !found {
				first, found = run, true
			}
			if run == first {
				return false
			}
			if others == nil {
				others = newSplitter(rs)
			}
			span.MoveTo(others.spansOf(run, j, scope).AppendEmpty())
			return true
		})
	}
	if !found {
		first = fallback
	}
	if others != nil {
		others.appendTo(all, service)
		rs = all.At(i)
	}
	tag(rs.Resource().Attributes(), service, first)
}

// serviceName returns the service of a resource, unknown_service when it names none.
func serviceName(resource pcommon.Map) string {
	if v, ok := resource.Get(runid.AttributeServiceName); ok {
		if s := v.AsString(); s != "" {
			return s
		}
	}
	return runid.UnknownService
}

func tag(attrs pcommon.Map, service, run string) {
	attrs.PutStr(runid.AttributeServiceName, service)
	attrs.PutStr(runid.AttributeRunID, run)
}
