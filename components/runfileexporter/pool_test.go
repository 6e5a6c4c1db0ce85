package runfileexporter

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

func TestBuffersOutliveGarbageCollections(t *testing.T) {
	p := newRequestPool(0)
	// used returns a request that has encoded a span of the given size.
	used := func(size int) *request {
		r := p.get()
		td := ptrace.NewTraces()
		td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty().SetName(strings.Repeat("x", size))
		_, err := r.encoder.Encode(td)
		require.NoError(t, err)
		return r
	}
	small, large := used(1000), used(2*keptBytes)
	p.put(small)
	p.put(large)
	runtime.GC()
	runtime.GC()
	assert.Same(t, small, p.get())
	next := p.get()
	assert.Zero(t, next.encoder.Buffered(), "the large one was left to the garbage collector")

	var many []*request
	for range keptRequests + 1 {
		many = append(many, used(1000))
	}
	for _, r := range many {
		p.put(r)
	}
	assert.Len(t, p.kept, keptRequests)
}
