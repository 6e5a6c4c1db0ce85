package micro

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/runspan/runspan/test/bench/internal/results"
	"github.com/runspan/runspan/test/bench/internal/spans"
)

const configs = "../../configs"

func TestProcessorsMeasuresEachCase(t *testing.T) {
	got, err := Processors(t.Context(), results.Taken{}, configs, 1, 2)
	require.NoError(t, err)
	assert.Equal(t, []string{"transform", "groupbyattrs"}, got.Pair)
	require.Len(t, got.Cases, 3)
	for _, c := range got.Cases {
		for _, cost := range []results.Cost{c.RunID, c.Stock} {
			assert.Len(t, cost.CPU.Rounds, 1)
			assert.Positive(t, cost.CPU.Median)
			assert.Positive(t, cost.Bytes.Median)
		}
	}
	assert.Len(t, got.Ratios, 6)
}

func TestAChainNeedsItsProcessors(t *testing.T) {
	_, err := newChain(t.Context(), configs, "run_id.yaml", stock)
	require.ErrorContains(t, err, "run_id.yaml has no processor groupbyattrs")
}

// BenchmarkProcessors is for benchstat: `go test -run NONE -bench Processors -count 10
// ./test/bench/internal/micro`, before and after a change. Decoding is not timed.
func BenchmarkProcessors(b *testing.B) {
	for _, shape := range shapes() {
		template, err := spans.New(shape)
		require.NoError(b, err)
		for _, c := range []struct {
			name string
			make func() (*chain, error)
		}{
			{"run_id", func() (*chain, error) { return newRunID(b.Context(), configs) }},
			{"stock", func() (*chain, error) { return newStock(b.Context(), configs) }},
		} {
			b.Run(c.name+"/run_named_on="+string(shape.Naming), func(b *testing.B) {
				chain, err := c.make()
				require.NoError(b, err)
				defer func() { require.NoError(b, chain.stop(b.Context())) }()
				b.ReportAllocs()
				for seq := range b.N {
					b.StopTimer()
					request := ptraceotlp.NewExportRequest()
					require.NoError(b, request.UnmarshalProto(template.Stamp(uint64(seq))))
					td := request.Traces()
					b.StartTimer()
					require.NoError(b, chain.ConsumeTraces(b.Context(), td))
				}
			})
		}
	}
}
