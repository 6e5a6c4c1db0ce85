package results_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/bench/internal/results"
)

func TestUpdateKeepsWhatWasNotMeasured(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	require.NoError(t, results.Update(path, results.Results{
		Whole:  &results.Whole{Ratios: []results.Ratio{{Name: "cpu a/b"}}},
		Curves: []results.Curve{{Axis: "runs", X: []float64{1}}, {Axis: "clients", X: []float64{1}}},
	}))
	require.NoError(t, results.Update(path, results.Results{
		Processors: &results.Processors{Ratios: []results.Ratio{{Name: "processor cpu"}}},
		Curves:     []results.Curve{{Axis: "clients", X: []float64{1, 2}}, {Axis: "spans", X: []float64{3}}},
	}))
	got, err := results.Read(path)
	require.NoError(t, err)
	all := got.AllRatios()
	assert.Contains(t, all, "cpu a/b")
	assert.Contains(t, all, "processor cpu")
	require.Len(t, got.Curves, 3)
	assert.Equal(t, "clients", got.Curves[1].Axis)
	assert.Equal(t, []float64{1, 2}, got.Curves[1].X)
	assert.Equal(t, "spans", got.Curves[2].Axis)
}

func TestADamagedFileIsNotOverwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	require.ErrorContains(t, results.Update(path, results.Results{}), "-json on a new file")
	left, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "{", string(left))
}
