package runidprocessor

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestInheritanceAcrossRequests: what is remembered, for how long, and how much of it.
func TestInheritanceAcrossRequests(t *testing.T) {
	const a, b, c = 1, 2, 3
	teach := func(t *testing.T, p *runIDProcessor, trace byte, run string) {
		t.Helper()
		_, err := p.processTraces(context.Background(),
			tracesOf(t, resourceSpec{attrs{"run.id": run}, []spanSpec{{trace, 1, nil}}}))
		require.NoError(t, err)
	}
	ask := func(t *testing.T, p *runIDProcessor, trace byte) any {
		t.Helper()
		out, err := p.processTraces(context.Background(), tracesOf(t, resourceSpec{nil, []spanSpec{{trace, 2, nil}}}))
		require.NoError(t, err)
		return out.ResourceSpans().At(0).Resource().Attributes().AsRaw()["run.id"]
	}

	t.Run("an earlier request names the run, a later one inherits it", func(t *testing.T) {
		p, _ := newBare(t, config(nil))
		assert.Equal(t, "unassigned", ask(t, p, a), "the parent comes later: too late for this span")
		teach(t, p, a, "r")
		assert.Equal(t, "r", ask(t, p, a))
		assert.Equal(t, "unassigned", ask(t, p, b))
	})
	t.Run("whatever the number of traces in the earlier request", func(t *testing.T) {
		p, _ := newBare(t, config(nil))
		for first := 1; first <= 255-2*maxLessons; first += 50 { // at other places in the lists of lessons
			spec := resourceSpec{attrs: attrs{"run.id": "r"}}
			for trace := 1; trace <= first+2*maxLessons; trace++ {
				spec.spans = append(spec.spans, spanSpec{byte(trace), 1, nil})
			}
			_, err := p.processTraces(context.Background(), tracesOf(t, spec))
			require.NoError(t, err)
			for _, s := range spec.spans {
				require.Equal(t, "r", ask(t, p, s.trace))
			}
		}
	})
	t.Run("for max_age", func(t *testing.T) {
		p, now := newBare(t, config(func(cfg *Config) { cfg.Sources.Trace.MaxAge = time.Minute }))
		teach(t, p, a, "r")
		*now = 59 * time.Second
		assert.Equal(t, "r", ask(t, p, a))
		*now = time.Minute
		assert.Equal(t, "unassigned", ask(t, p, a), "inheriting is no naming: it does not prolong")
	})
	t.Run("for max_traces", func(t *testing.T) {
		p, _ := newBare(t, config(func(cfg *Config) { cfg.Sources.Trace.MaxTraces = 2 }))
		teach(t, p, a, "r")
		teach(t, p, b, "s")
		teach(t, p, c, "u")
		assert.Equal(t, []any{"unassigned", "s", "u"}, []any{ask(t, p, a), ask(t, p, b), ask(t, p, c)})
	})
	t.Run("within a request whatever max_traces is", func(t *testing.T) {
		p, _ := newBare(t, config(func(cfg *Config) { cfg.Sources.Trace.MaxTraces = 1 }))
		out, err := p.processTraces(context.Background(), tracesOf(t, resourceSpec{nil, []spanSpec{
			{a, 1, nil}, {a, 2, attrs{"run.id": "r"}}, {b, 3, attrs{"run.id": "s"}}, {c, 4, attrs{"run.id": "u"}},
		}}))
		require.NoError(t, err)
		assert.Equal(t, [][]byte{{1, 2}, {3}, {4}}, spanIDs(out))
	})
	t.Run("not once the trace named two runs", func(t *testing.T) {
		p, _ := newBare(t, config(nil))
		teach(t, p, a, "r")
		teach(t, p, a, "s")
		teach(t, p, a, "r")
		assert.Equal(t, "unassigned", ask(t, p, a))
	})
	t.Run("nor where this request contradicts an earlier one", func(t *testing.T) {
		p, _ := newBare(t, config(nil))
		teach(t, p, a, "r")
		out, err := p.processTraces(context.Background(), tracesOf(t, resourceSpec{nil, []spanSpec{
			{a, 1, nil}, {a, 2, attrs{"run.id": "s"}},
		}}))
		require.NoError(t, err)
		assert.Equal(t, "unassigned", out.ResourceSpans().At(0).Resource().Attributes().AsRaw()["run.id"])
	})
}
