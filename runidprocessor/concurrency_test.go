package runidprocessor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processorhelper"
)

// TestOrderOfRequestsDoesNotMatter: for spans that carry their own run, whatever the other requests
// say of the same traces, and however many are under way at once.
func TestOrderOfRequestsDoesNotMatter(t *testing.T) {
	const requests, workers = 300, 16
	request := func(i int) ptrace.Traces {
		random := rand.New(rand.NewPCG(uint64(i), 1))
		run := func() string { return fmt.Sprint("run-", random.IntN(5)) }
		resources := make([]resourceSpec, 3)
		for r := range resources {
			if r == 2 {
				resources[r].attrs = attrs{"run.id": run()}
			}
			for range 10 {
				s := spanSpec{trace: byte(1 + random.IntN(200)), id: byte(1 + random.IntN(200))}
				if r < 2 {
					s.attrs = attrs{[]string{"run.id", "rl.run.id"}[r]: run()}
				}
				resources[r].spans = append(resources[r].spans, s)
			}
		}
		return tracesOf(t, resources...)
	}
	alone := func(i int) []byte {
		p, _ := newBare(t, config(nil))
		out, err := p.processTraces(context.Background(), request(i))
		require.NoError(t, err)
		return encoded(t, out)
	}

	p, _ := newBare(t, config(func(c *Config) { c.Sources.Trace.MaxTraces = 50 }))
	got := make([]ptrace.Traces, requests)
	errs := make([]error, requests)
	inParallel(workers, rand.New(rand.NewPCG(1, 1)).Perm(requests), func(i int) {
		got[i], errs[i] = p.processTraces(context.Background(), request(i))
	})
	require.NoError(t, errors.Join(errs...))
	for i := range requests {
		require.Equal(t, alone(i), encoded(t, got[i]), "request %d", i)
	}
	assert.EqualValues(t, 50, p.memory.remembered.Load())
}

// TestInheritanceWhileOthersTeach: a span without a run gets the one run of its trace or none, never
// another's.
func TestInheritanceWhileOthersTeach(t *testing.T) {
	const traces, workers = 200, 16
	p, _ := newBare(t, config(nil))
	errs := make([]error, 2*traces)
	got := make([]any, 2*traces)
	inParallel(workers, rand.New(rand.NewPCG(2, 2)).Perm(2*traces), func(i int) {
		trace := byte(1 + i%traces)
		spec := resourceSpec{spans: []spanSpec{{trace, 1, nil}}}
		if i < traces {
			spec.attrs = attrs{"run.id": fmt.Sprint("run-", trace)}
		}
		out, err := p.processTraces(context.Background(), tracesOf(t, spec))
		errs[i] = err
		if err == nil {
			got[i] = out.ResourceSpans().At(0).Resource().Attributes().AsRaw()["run.id"]
		}
	})
	require.NoError(t, errors.Join(errs...))
	for i, run := range got {
		own := fmt.Sprint("run-", 1+i%traces)
		if i < traces {
			assert.Equal(t, own, run)
		} else {
			assert.Contains(t, []any{own, "unassigned"}, run)
		}
	}
	// Everything is taught now: the same spans find their runs.
	for i := range traces {
		out, err := p.processTraces(context.Background(), tracesOf(t, resourceSpec{spans: []spanSpec{{byte(1 + i), 2, nil}}}))
		require.NotErrorIs(t, err, processorhelper.ErrSkipProcessingData)
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprint("run-", 1+i), out.ResourceSpans().At(0).Resource().Attributes().AsRaw()["run.id"])
	}
}

// inParallel calls do for each item, on many goroutines.
func inParallel(workers int, items []int, do func(i int)) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for _, i := range items {
		next <- i
	}
	close(next)
	wg.Wait()
}
