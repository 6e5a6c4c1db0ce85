package runfilereceiver

import (
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

func TestHalve_KeepsEverySpanUnderItsResourceAndScope(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for range 300 {
		td, n := ptrace.NewTraces(), 0
		for r := range random.Intn(4) {
			rs := td.ResourceSpans().AppendEmpty()
			rs.SetSchemaUrl("resource")
			rs.Resource().Attributes().PutInt("resource", int64(r))
			for s := range random.Intn(4) {
				ss := rs.ScopeSpans().AppendEmpty()
				ss.SetSchemaUrl("scope")
				ss.Scope().Attributes().PutInt("scope", int64(s))
				for range random.Intn(5) {
					span := ss.Spans().AppendEmpty()
					span.Attributes().PutInt("resource", int64(r))
					span.Attributes().PutInt("scope", int64(s))
					span.Attributes().PutInt("number", int64(n))
					n++
				}
			}
		}
		td.MarkReadOnly()
		first, second := halve(td)
		require.Equal(t, n/2, first.SpanCount())
		require.Equal(t, n-n/2, second.SpanCount())
		next := int64(0)
		for _, part := range []ptrace.Traces{first, second} {
			for _, rs := range part.ResourceSpans().All() {
				require.Equal(t, "resource", rs.SchemaUrl())
				resource, _ := rs.Resource().Attributes().Get("resource")
				for _, ss := range rs.ScopeSpans().All() {
					require.Equal(t, "scope", ss.SchemaUrl())
					scope, _ := ss.Scope().Attributes().Get("scope")
					for _, span := range ss.Spans().All() {
						attrs := span.Attributes().AsRaw()
						require.Equal(t, map[string]any{"resource": resource.Int(), "scope": scope.Int(), "number": next}, attrs)
						next++
					}
				}
			}
		}
	}
}
