package runidprocessor

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/runspan/runspan/internal/runid"
)

// number gives every span of td its number as its count of dropped links, by which it is known
// again behind the processor: ids need not be unique.
func number(td ptrace.Traces) {
	n := uint32(0)
	eachSpanOf(td, func(_ ptrace.ResourceSpans, _ ptrace.ScopeSpans, s ptrace.Span) {
		n++
		s.SetDroppedLinksCount(n)
	})
}

func eachSpanOf(td ptrace.Traces, f func(ptrace.ResourceSpans, ptrace.ScopeSpans, ptrace.Span)) {
	for _, rs := range td.ResourceSpans().All() {
		for _, scope := range rs.ScopeSpans().All() {
			for _, s := range scope.Spans().All() {
				f(rs, scope, s)
			}
		}
	}
}

// origin is where a span came from: copies of the three, without the attributes the processor writes.
type origin struct {
	resource ptrace.ResourceSpans // without scopes
	scope    ptrace.ScopeSpans    // without spans
	span     ptrace.Span
	own      string // the run id that the span carried as it should; "": none
}

func originsOf(td ptrace.Traces, cfg *Config) map[uint32]origin {
	origins := map[uint32]origin{}
	eachSpanOf(td, func(rs ptrace.ResourceSpans, scope ptrace.ScopeSpans, s ptrace.Span) {
		if s.TraceID().IsEmpty() || s.SpanID().IsEmpty() {
			return
		}
		own := ""
		if v, ok := s.Attributes().Get(runid.AttributeRunID); ok && v.Type() == pcommon.ValueTypeStr &&
			v.Str() != runid.Unassigned && v.Str() != cfg.Fallback.ID && runid.Check(v.Str()) == nil {
			own = v.Str()
		}
		r, sc, sp := stripped(rs, scope, s)
		origins[s.DroppedLinksCount()] = origin{r, sc, sp, own}
	})
	return origins
}

func stripped(rs ptrace.ResourceSpans, scope ptrace.ScopeSpans, s ptrace.Span) (ptrace.ResourceSpans, ptrace.ScopeSpans, ptrace.Span) {
	strip := func(m pcommon.Map) {
		m.RemoveIf(func(k string, _ pcommon.Value) bool {
			return k == runid.AttributeRunID || k == runid.AttributeServiceName || k == runid.AttributeRunIDSource
		})
	}
	r := ptrace.NewResourceSpans()
	rs.Resource().CopyTo(r.Resource())
	r.SetSchemaUrl(rs.SchemaUrl())
	strip(r.Resource().Attributes())
	sc := ptrace.NewScopeSpans()
	scope.Scope().CopyTo(sc.Scope())
	sc.SetSchemaUrl(scope.SchemaUrl())
	sp := ptrace.NewSpan()
	s.CopyTo(sp)
	strip(sp.Attributes())
	return r, sc, sp
}

// encodedOne returns all that is known of a span and of what it stands in, as bytes.
func encodedOne(t *testing.T, r ptrace.ResourceSpans, sc ptrace.ScopeSpans, sp ptrace.Span) []byte {
	t.Helper()
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	r.CopyTo(rs)
	scope := rs.ScopeSpans().AppendEmpty()
	sc.CopyTo(scope)
	sp.CopyTo(scope.Spans().AppendEmpty())
	return encoded(t, td)
}

func encoded(t *testing.T, td ptrace.Traces) []byte {
	t.Helper()
	var encoder ptrace.ProtoMarshaler
	b, err := encoder.MarshalTraces(td)
	require.NoError(t, err)
	return b
}

// requireInvariants processes td and requires what must hold for any data and any configuration.
func requireInvariants(t *testing.T, cfg *Config, td ptrace.Traces) {
	t.Helper()
	number(td)
	origins := originsOf(td, cfg)
	p, _ := newBare(t, cfg)
	out, err := p.processTraces(context.Background(), td)
	if err != nil && cfg.Fallback.Action == FallbackReject && len(origins) > 0 {
		return // refused as a whole
	}

	seen := map[uint32]bool{}
	for _, rs := range out.ResourceSpans().All() {
		require.Positive(t, rs.ScopeSpans().Len(), "a resource without scopes was passed on")
		run := requireOne(t, rs.Resource().Attributes(), runid.AttributeRunID, cfg.Tags.Resources)
		service := requireOne(t, rs.Resource().Attributes(), runid.AttributeServiceName, cfg.Tags.Resources)
		last := uint32(0)
		for _, scope := range rs.ScopeSpans().All() {
			require.Positive(t, scope.Spans().Len(), "a scope without spans was passed on")
			for _, s := range scope.Spans().All() {
				n := s.DroppedLinksCount()
				from, known := origins[n]
				require.True(t, known, "a span that should have been refused was passed on")
				require.False(t, seen[n], "a span was passed on twice")
				seen[n] = true
				require.Greater(t, n, last, "the order within a resource changed")
				last = n

				spanRun := requireOne(t, s.Attributes(), runid.AttributeRunID, cfg.Tags.Spans)
				if run == "" {
					run = spanRun // resources are not tagged: the spans of one must agree all the same
				}
				if spanRun != "" {
					require.Equal(t, run, spanRun, "a span contradicts its resource")
				}
				if from.own != "" && cfg.Sources.Span.Enabled {
					require.Equal(t, from.own, run, "a span lost its own run")
				}
				if cfg.Tags.Spans {
					spanService := requireOne(t, s.Attributes(), runid.AttributeServiceName, true)
					if service != "" {
						require.Equal(t, service, spanService)
					}
				}
				want := encodedOne(t, from.resource, from.scope, from.span)
				r, sc, sp := stripped(rs, scope, s)
				got := encodedOne(t, r, sc, sp)
				require.Equal(t, want, got, "something else changed")
			}
		}
	}
	if cfg.Fallback.Action == FallbackAssign {
		require.Len(t, seen, len(origins), "a span got lost")
	}

	once := encoded(t, out)
	again, _ := newBare(t, cfg)
	out, _ = again.processTraces(context.Background(), out)
	require.Equal(t, once, encoded(t, out), "a second pass changed something")
}

// requireOne returns the text under key, which must be there once, as a string that is not empty,
// or, where it need not be there, at most once.
func requireOne(t *testing.T, m pcommon.Map, key string, must bool) string {
	t.Helper()
	count, text := 0, ""
	for k, v := range m.All() {
		if k == key {
			count++
			text = v.AsString()
			if must || key == runid.AttributeRunID {
				require.Equal(t, pcommon.ValueTypeStr, v.Type(), "%s", key)
				require.NotEmpty(t, text, "%s", key)
			}
		}
	}
	if must {
		require.Equal(t, 1, count, "%s", key)
	} else if key == runid.AttributeRunID {
		require.LessOrEqual(t, count, 1, "%s", key)
	}
	return text
}
