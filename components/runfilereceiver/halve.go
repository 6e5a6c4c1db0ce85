package runfilereceiver

import "go.opentelemetry.io/collector/pdata/ptrace"

// halve copies the first half of the spans into one Traces and the rest into another. td is not
// changed: a pipeline may have marked it read-only.
func halve(td ptrace.Traces) (first, second ptrace.Traces) {
	first, second = ptrace.NewTraces(), ptrace.NewTraces()
	left := td.SpanCount() / 2
	for _, rs := range td.ResourceSpans().All() {
		n := spanCount(rs)
		copySpans(rs, first, 0, min(left, n))
		copySpans(rs, second, min(left, n), n)
		left -= min(left, n)
	}
	return first, second
}

// copySpans appends the spans [from, to) of one resource to td, under their resource and scopes.
func copySpans(rs ptrace.ResourceSpans, td ptrace.Traces, from, to int) {
	if from >= to {
		return
	}
	copied := td.ResourceSpans().AppendEmpty()
	rs.Resource().CopyTo(copied.Resource())
	copied.SetSchemaUrl(rs.SchemaUrl())
	for _, ss := range rs.ScopeSpans().All() {
		n := ss.Spans().Len()
		low, high := max(from, 0), min(to, n)
		if low < high {
			scope := copied.ScopeSpans().AppendEmpty()
			ss.Scope().CopyTo(scope.Scope())
			scope.SetSchemaUrl(ss.SchemaUrl())
			for i := low; i < high; i++ {
				ss.Spans().At(i).CopyTo(scope.Spans().AppendEmpty())
			}
		}
		from, to = from-n, to-n
	}
}

func spanCount(rs ptrace.ResourceSpans) int {
	n := 0
	for _, ss := range rs.ScopeSpans().All() {
		n += ss.Spans().Len()
	}
	return n
}
