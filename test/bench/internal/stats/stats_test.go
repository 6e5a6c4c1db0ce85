package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/runspan/runspan/test/bench/internal/stats"
)

func TestMedian(t *testing.T) {
	values := []float64{9, 1, 5}
	assert.InDelta(t, 5, stats.Median(values), 0)
	assert.Equal(t, []float64{9, 1, 5}, values, "the order of the rounds must stay")
	assert.InDelta(t, 3, stats.Median([]float64{1, 5, 2, 4}), 0)
	assert.True(t, math.IsNaN(stats.Median(nil)))
}

func TestIntervalIsThatOfTheSignTest(t *testing.T) {
	// How many values are left out at each end: from tables of the sign test at 1 %, two-sided.
	for n, dropped := range map[int]int{1: 0, 5: 0, 8: 0, 10: 0, 11: 0, 12: 1, 15: 2, 20: 3, 25: 5} {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(n - i)
		}
		low, high := stats.Interval(values)
		assert.InDelta(t, 1+dropped, low, 0, "n=%d", n)
		assert.InDelta(t, n-dropped, high, 0, "n=%d", n)
	}
	low, _ := stats.Interval(nil)
	assert.True(t, math.IsNaN(low))
}

func TestSpreadIsTheFartherEnd(t *testing.T) {
	s := stats.Summarize([]float64{10, 11, 12, 13, 20, 12, 12})
	assert.InDelta(t, 12, s.Median, 0)
	assert.InDelta(t, 8, s.Spread, 0)
}

func TestIntervalHoldsTheMedianAsOftenAsItSays(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const trials = 4000
	held := 0
	for range trials {
		values := make([]float64, 12)
		for i := range values {
			values[i] = math.Exp(r.NormFloat64()) // a long tail, as a busy machine has; true median 1
		}
		if low, high := stats.Interval(values); low <= 1 && 1 <= high {
			held++
		}
	}
	assert.InDelta(t, 0.9937, float64(held)/trials, 0.005)
}

func TestRatiosArePaired(t *testing.T) {
	// Both contenders slow down threefold together in the second round: the ratio must not see it.
	nop := []float64{1, 3, 1}
	ours := []float64{1.1, 3.3, 1.1}
	s := stats.Summarize(stats.Ratios(ours, nop))
	assert.InDelta(t, 1.1, s.Median, 1e-9)
	assert.InDelta(t, 0, s.Spread, 1e-9)
	assert.InDeltaSlice(t, []float64{0.1, 0.3, 0.1}, stats.Minus(ours, nop), 1e-9)
}

func TestPercentile(t *testing.T) {
	sorted := make([]float64, 100)
	for i := range sorted {
		sorted[i] = float64(i + 1)
	}
	for p, want := range map[float64]float64{0: 1, 0.5: 50, 0.99: 99, 0.991: 100, 1: 100} {
		assert.InDelta(t, want, stats.Percentile(sorted, p), 0, "p=%v", p)
	}
	assert.InDelta(t, 7, stats.Percentile([]float64{7}, 0.5), 0)
	assert.True(t, math.IsNaN(stats.Percentile(nil, 0.5)))
}

func TestAgree(t *testing.T) {
	a := stats.Summary{Median: 1.0, Spread: 0.02}
	assert.True(t, stats.Agree(a, stats.Summary{Median: 1.03, Spread: 0.02}))
	assert.False(t, stats.Agree(a, stats.Summary{Median: 1.05, Spread: 0.02}))
}
