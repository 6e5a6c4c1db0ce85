package measure

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/bench/internal/contender"
	"github.com/runspan/runspan/test/bench/internal/results"
	"github.com/runspan/runspan/test/bench/internal/spans"
)

func TestRatiosAreOfTheSameRound(t *testing.T) {
	// The second round ran at half the speed. No ratio may see it.
	measured := []samples{
		{cpu: []float64{2, 4, 2}, memory: []float64{50, 50, 50}},
		{cpu: []float64{3, 6, 3}, memory: []float64{60, 60, 60}},
		{cpu: []float64{6, 12, 6}, memory: []float64{100, 100, 100}},
	}
	contenders := []contender.Contender{{Name: contender.Nop}, {Name: "ours"}, {Name: contender.Stock}}
	got := map[string]float64{}
	for _, r := range ratios(contenders, measured) {
		got[r.Name] = r.Median
		assert.InDelta(t, 0, r.Spread, 1e-9, r.Name)
	}
	want := map[string]float64{
		"cpu nop/stock_equivalent": 2.0 / 6, "memory nop/stock_equivalent": 0.5,
		"cpu ours/nop": 1.5, "memory ours/nop": 1.2,
		"cpu ours/stock_equivalent": 0.5, "memory ours/stock_equivalent": 0.6,
		"added cpu ours/stock_equivalent": 0.25,
		"cpu stock_equivalent/nop":        3, "memory stock_equivalent/nop": 2,
	}
	assert.InDeltaMapValues(t, want, got, 1e-9)
}

func TestNoRatiosWithoutTheirBase(t *testing.T) {
	measured := []samples{{cpu: []float64{1}, memory: []float64{1}}, {cpu: []float64{1}, memory: []float64{1}}}
	assert.Empty(t, ratios([]contender.Contender{{Name: "a"}, {Name: "b"}}, measured))
}

func TestAContenderIsComparedWithAnother(t *testing.T) {
	one := samples{cpu: []float64{2, 4}, memory: []float64{1, 1}, throughput: []float64{10, 10}, p99: []float64{1, 1}, requests: 5}
	many := samples{cpu: []float64{3, 6}, memory: []float64{2, 2}, throughput: []float64{5, 5}, p99: []float64{3, 3}, requests: 5}
	got := ratios([]contender.Contender{{Name: "one"}, {Name: "many", Against: []string{"one"}}}, []samples{one, many})
	require.Len(t, got, 4)
	assert.Equal(t, "cpu many/one", got[0].Name)
	assert.InDelta(t, 1.5, got[0].Median, 1e-9)
	assert.Equal(t, "memory many/one", got[1].Name)
	assert.Equal(t, "throughput many/one", got[2].Name)
	assert.InDelta(t, 0.5, got[2].Median, 1e-9)
	assert.Equal(t, "p99 many/one", got[3].Name)
	assert.InDelta(t, 3, got[3].Median, 1e-9)
}

func TestEachRunHasItsFileBeforeItIsMeasured(t *testing.T) {
	w := results.Workload{Shape: spans.XTuner, WarmUp: 1000}
	assert.Equal(t, 1000, warmUp(w, contender.Contender{}))
	assert.Equal(t, 1000*w.Shape.Spans, warmUp(w, contender.Contender{Runs: 1000}))
}

func TestADiskTooSmallIsRefused(t *testing.T) {
	r := &Runner{Dir: t.TempDir()}
	w := results.Workload{Shape: spans.XTuner, Spans: 1e15, RequestBytes: 1e5}
	require.ErrorContains(t, r.checkDisk(w, make([]contender.Contender, 3)), "lower -spans")
	w.Spans = 1
	require.NoError(t, r.checkDisk(w, make([]contender.Contender, 3)))
}

func TestUnknownCurve(t *testing.T) {
	_, err := (&Runner{}).Curves(t.Context(), results.Taken{}, results.Workload{}, nil, []string{"moons"})
	require.ErrorContains(t, err, `no curve "moons": choose from ["runs"`)
}
