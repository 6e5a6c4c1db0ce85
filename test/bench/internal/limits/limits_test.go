package limits_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/bench/internal/limits"
	"github.com/runspan/runspan/test/bench/internal/results"
	"github.com/runspan/runspan/test/bench/internal/stats"
)

func measured(median, spread float64) results.Results {
	return results.Results{Whole: &results.Whole{Ratios: []results.Ratio{
		{Name: "cpu a/b", Summary: stats.Summary{Median: median, Spread: spread}},
	}}}
}

func TestCheck(t *testing.T) {
	limit := []limits.Limit{{Ratio: "cpu a/b", Recorded: 1, Headroom: 0.1}}
	for name, c := range map[string]struct {
		median, spread float64
		missed, better bool
	}{
		"as recorded":                      {1, 0.01, false, false},
		"within the headroom":              {1.1, 0, false, false},
		"above it, within the spread":      {1.14, 0.05, false, false},
		"above it by more than the spread": {1.16, 0.05, true, false},
		"30 % slower":                      {1.3, 0.05, true, false},
		"faster":                           {0.8, 0.05, false, true},
		"perhaps faster":                   {0.88, 0.05, false, false},
		"not a number":                     {math.NaN(), 0, true, false},
		"of unknown spread":                {1, math.NaN(), true, false},
	} {
		t.Run(name, func(t *testing.T) {
			verdicts, err := limits.Check(limit, measured(c.median, c.spread))
			require.NoError(t, err)
			require.Len(t, verdicts, 1)
			assert.Equal(t, c.missed, verdicts[0].Missed)
			assert.Equal(t, c.better, verdicts[0].Better)
		})
	}
}

func TestAGoalIsMissedByTheMedian(t *testing.T) {
	limit := []limits.Limit{{Ratio: "cpu a/b", Recorded: 1, Headroom: 0.15, Goal: 1.1}}
	for name, c := range map[string]struct {
		median, spread float64
		missed         bool
	}{
		"at the goal":                   {1.1, 0.2, false},
		"above it, within the spread":   {1.11, 0.2, true},
		"below it, not known how far":   {1, math.NaN(), true},
		"above it, within the headroom": {1.12, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			verdicts, err := limits.Check(limit, measured(c.median, c.spread))
			require.NoError(t, err)
			assert.Equal(t, c.missed, verdicts[0].Missed)
		})
	}
}

func TestACheckOfNothingFails(t *testing.T) {
	_, err := limits.Check([]limits.Limit{{Ratio: "cpu a/c"}}, measured(1, 0))
	require.ErrorContains(t, err, "correct its name")
	_, err = limits.Check(nil, measured(1, 0))
	require.ErrorContains(t, err, "no limits")
}

func TestRecordKeepsTheReasons(t *testing.T) {
	path := filepath.Join(t.TempDir(), "limits.json")
	old := []limits.Limit{{Ratio: "cpu a/b", Recorded: 1, Headroom: 0.1, Goal: 1.2, Why: "because"}}
	verdicts, err := limits.Check(old, measured(0.70001, 0.01))
	require.NoError(t, err)
	require.NoError(t, limits.Record(path, verdicts))
	got, err := limits.Read(path)
	require.NoError(t, err)
	assert.Equal(t, []limits.Limit{{Ratio: "cpu a/b", Recorded: 0.7, Headroom: 0.1, Goal: 1.2, Why: "because"}}, got)
}

func TestUnreadableLimits(t *testing.T) {
	_, err := limits.Read("no-such-file")
	require.Error(t, err)
	path := filepath.Join(t.TempDir(), "limits.json")
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	_, err = limits.Read(path)
	require.ErrorContains(t, err, "read the limits")
}

func TestTheLimitsOfTheRepositoryCatchThirtyPercent(t *testing.T) {
	all, err := limits.Read("../../limits.json")
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, l := range all {
		assert.NotEmpty(t, l.Why, l.Ratio)
		assert.Positive(t, l.Recorded, l.Ratio)
		assert.LessOrEqual(t, l.Headroom, 0.15, "%s: leaves no room for its spread below 30 %%", l.Ratio)
		if l.Goal > 0 {
			assert.LessOrEqual(t, l.Recorded, l.Goal, "%s: misses its goal as recorded", l.Ratio)
		}
	}
}
