// Package stats turns repeated measurements into a median, an honest spread, and ratios.
package stats

import (
	"math"
	"slices"
)

// Summary is what repeated measurements of one figure say about it.
type Summary struct {
	// Median of the rounds.
	Median float64 `json:"median"`
	// Spread is how far the true median may be away: the distance from Median to the farther end of
	// the interval that holds the true median with at least 99 % probability (see Interval): at 95 % one of
	// 40 ratios would disagree between two runs in every sixth pair of them.
	Spread float64 `json:"spread"`
	// Rounds holds the single values in the order in which they were measured.
	Rounds []float64 `json:"rounds"`
}

// Summarize returns the median and the spread of values. No values give NaN.
func Summarize(values []float64) Summary {
	median := Median(values)
	low, high := Interval(values)
	return Summary{Median: median, Spread: max(median-low, high-median), Rounds: values}
}

// Median returns the middle of values, NaN for none. It leaves values as they are.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	switch {
	case n == 0:
		return math.NaN()
	case n%2 == 1:
		return sorted[n/2]
	default:
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
}

// Interval returns the innermost pair of values that holds the true median with at least 99 %
// probability, whatever the distribution of the noise (the sign test): the two ends must not both
// be on one side of it. With fewer than 8 values no pair does; then it is the smallest and the
// largest, which hold it with 1 - 2/2^n. No values give NaN.
func Interval(values []float64) (low, high float64) {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	// outside is the chance that at most k of n values are on one given side of the median.
	k, outside := 0, math.Pow(0.5, float64(n))
	for term := outside; ; k++ {
		term *= float64(n-k) / float64(k+1)
		if 2*(outside+term) > 0.01 || k+1 >= n/2 {
			break
		}
		outside += term
	}
	return sorted[k], sorted[n-1-k]
}

// Ratios divides a by b round by round, so that noise which slows both alike cancels.
func Ratios(a, b []float64) []float64 {
	out := make([]float64, min(len(a), len(b)))
	for i := range out {
		out[i] = a[i] / b[i]
	}
	return out
}

// Minus subtracts b from a round by round.
func Minus(a, b []float64) []float64 {
	out := make([]float64, min(len(a), len(b)))
	for i := range out {
		out[i] = a[i] - b[i]
	}
	return out
}

// Percentile returns the smallest of the sorted values that at least p (0 to 1) of them do not
// exceed: an exact value that was measured, never an interpolation. No values give NaN.
func Percentile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	i := int(math.Ceil(p*float64(len(sorted)))) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

// Agree reports whether two measurements of one figure differ by no more than their spreads.
func Agree(a, b Summary) bool {
	return math.Abs(a.Median-b.Median) <= a.Spread+b.Spread
}
