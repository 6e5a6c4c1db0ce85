package tracefile

import (
	"iter"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/runspan/runspan/internal/runid"
)

// RunSpan is a span, and where it belongs.
type RunSpan struct {
	// Run of the span: its own run.id, else its resource's; "" when neither is a valid run id.
	Run string
	// Service is the span's own service.name, else its resource's, else runid.UnknownService.
	Service string
	// Resource and Scope are what the span stands in.
	Resource ptrace.ResourceSpans
	Scope    ptrace.ScopeSpans
	ptrace.Span
}

// SpansOf returns the spans of td with their runs, in their order.
func SpansOf(td ptrace.Traces) iter.Seq[RunSpan] {
	return func(yield func(RunSpan) bool) {
		for _, rs := range td.ResourceSpans().All() {
			resource := rs.Resource().Attributes()
			run, service := runOf(resource), serviceOf(resource)
			for _, ss := range rs.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					s := runSpan(span, run, service)
					s.Resource, s.Scope = rs, ss
					if !yield(s) {
						return
					}
				}
			}
		}
	}
}

// runSpan returns a span of a resource that names this run and this service.
func runSpan(span ptrace.Span, run, service string) RunSpan {
	s := RunSpan{Run: runOf(span.Attributes()), Service: serviceOf(span.Attributes()), Span: span}
	if s.Run == "" {
		s.Run = run
	}
	if s.Service == "" {
		s.Service = service
	}
	if s.Service == "" {
		s.Service = runid.UnknownService
	}
	return s
}

// runOf returns the run id that attributes name, "" when they name no valid one. Numbers and booleans
// count as their text, as in the run_id processor.
func runOf(attrs pcommon.Map) string {
	v, ok := attrs.Get(runid.AttributeRunID)
	if !ok {
		return ""
	}
	switch v.Type() {
	case pcommon.ValueTypeStr, pcommon.ValueTypeInt, pcommon.ValueTypeDouble, pcommon.ValueTypeBool:
		if id := v.AsString(); runid.Check(id) == nil {
			return id
		}
	}
	return ""
}

func serviceOf(attrs pcommon.Map) string {
	if v, ok := attrs.Get(runid.AttributeServiceName); ok {
		return v.AsString()
	}
	return ""
}

// SplitByRun returns the traces of each run of td, in the order in which the runs come in td. Each
// holds the spans of one run with their resources and scopes, in their order; together they hold
// every span of td once. Spans without a run are those of runid.Unassigned, unchanged. Where td holds
// one run, it is td itself; otherwise td is left without its spans.
func SplitByRun(td ptrace.Traces) []RunTraces {
	var runs []RunTraces
	index := map[string]int{}
	for s := range SpansOf(td) {
		run := assigned(s.Run)
		if _, ok := index[run]; !ok {
			index[run] = len(runs)
			runs = append(runs, RunTraces{Run: run})
		}
	}
	if len(runs) == 1 {
		runs[0].Traces = td
	}
	if len(runs) <= 1 {
		return runs
	}
	for i := range runs {
		runs[i].Traces = ptrace.NewTraces()
	}
	type place struct {
		rs ptrace.ResourceSpans
		ss ptrace.ScopeSpans
	}
	for _, rs := range td.ResourceSpans().All() {
		run := assigned(runOf(rs.Resource().Attributes()))
		resources := map[string]place{}
		for _, ss := range rs.ScopeSpans().All() {
			scopes := map[string]place{}
			for _, span := range ss.Spans().All() {
				of := runOf(span.Attributes())
				if of == "" {
					of = run
				}
				to, ok := scopes[of]
				if !ok {
					if to, ok = resources[of]; !ok {
						to.rs = runs[index[of]].Traces.ResourceSpans().AppendEmpty()
						rs.Resource().CopyTo(to.rs.Resource())
						to.rs.SetSchemaUrl(rs.SchemaUrl())
					}
					to.ss = to.rs.ScopeSpans().AppendEmpty()
					ss.Scope().CopyTo(to.ss.Scope())
					to.ss.SetSchemaUrl(ss.SchemaUrl())
					resources[of], scopes[of] = to, to
				}
				span.MoveTo(to.ss.Spans().AppendEmpty())
			}
		}
	}
	return runs
}

func assigned(run string) string {
	if run == "" {
		return runid.Unassigned
	}
	return run
}

// RunTraces are the spans of one run.
type RunTraces struct {
	Run    string
	Traces ptrace.Traces
}
