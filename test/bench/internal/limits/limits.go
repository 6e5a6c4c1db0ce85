// Package limits holds the ratios that must not grow, and checks measured ones against them.
package limits

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/runspan/runspan/test/bench/internal/results"
)

// Limit is a ratio that must not grow.
type Limit struct {
	// Ratio is its name in the results.
	Ratio string `json:"ratio"`
	// Recorded is what was measured when the limit was recorded.
	Recorded float64 `json:"recorded"`
	// Headroom is how much more, as a part of Recorded, other machines are known to show.
	Headroom float64 `json:"headroom"`
	// Goal is the most that the project promises, 0 for no promise. A median above it is a miss,
	// whatever was recorded and however wide the spread is.
	Goal float64 `json:"goal,omitempty"`
	// Why the limit is there.
	Why string `json:"why"`
}

// Bound is the largest value that the limit allows, before the spread of the measurement.
func (l Limit) Bound() float64 { return l.Recorded * (1 + l.Headroom) }

// Verdict is what a measurement says about a limit.
type Verdict struct {
	Limit
	Measured results.Ratio
	// Missed: the measured ratio is above the bound by more than its own spread, or above the goal.
	Missed bool
	// Better: it is below what was recorded by more than its spread and the headroom: record it, or
	// the next loss of speed hides in what was won.
	Better bool
}

// Read returns the limits in a file.
func Read(path string) ([]Limit, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the limits: %w", err)
	}
	var limits []Limit
	if err := json.Unmarshal(data, &limits); err != nil {
		return nil, fmt.Errorf("read the limits in %q: %w", path, err)
	}
	return limits, nil
}

// Check compares the results with the limits. A limit whose ratio was not measured is an error: a
// check that checks nothing must not pass.
func Check(limits []Limit, measured results.Results) ([]Verdict, error) {
	if len(limits) == 0 {
		return nil, errors.New("no limits to check")
	}
	all := measured.AllRatios()
	verdicts := make([]Verdict, len(limits))
	for i, l := range limits {
		ratio, ok := all[l.Ratio]
		if !ok {
			return nil, fmt.Errorf("limit %q: no such ratio was measured: correct its name", l.Ratio)
		}
		verdicts[i] = Verdict{
			Limit: l, Measured: ratio,
			// Written so that NaN, which no comparison holds for, is missed.
			Missed: !(ratio.Median-ratio.Spread <= l.Bound()) || l.Goal > 0 && !(ratio.Median <= l.Goal),
			Better: ratio.Median+ratio.Spread < l.Recorded*(1-l.Headroom),
		}
	}
	return verdicts, nil
}

// Record writes the measured ratios into the limits at path; their headroom and reasons stay.
func Record(path string, verdicts []Verdict) error {
	limits := make([]Limit, len(verdicts))
	for i, v := range verdicts {
		limits[i] = v.Limit
		limits[i].Recorded = round(v.Measured.Median)
	}
	data, err := json.MarshalIndent(limits, "", "  ")
	if err != nil {
		return fmt.Errorf("write the limits: %w", err)
	}
	return os.WriteFile(path, append(data, '\n'), 0o600)
}

// round keeps four decimals.
func round(x float64) float64 {
	return float64(int64(x*1e4+0.5)) / 1e4
}
