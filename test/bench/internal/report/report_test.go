package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/bench/internal/limits"
	"github.com/runspan/runspan/test/bench/internal/results"
	"github.com/runspan/runspan/test/bench/internal/stats"
)

func recorded(t *testing.T) results.Results {
	t.Helper()
	r, err := results.Read("../../results/latest.json")
	require.NoError(t, err)
	return r
}

// A figure changed in the page, or in the results without writing the page anew, fails here.
func TestTheDocsAreWhatTheResultsSay(t *testing.T) {
	reading, err := os.ReadFile("../../reading.md")
	require.NoError(t, err)
	page, err := Page(recorded(t), string(reading))
	require.NoError(t, err)

	const remedy = "run `go run ./test/bench -docs`"
	inDocs, err := os.ReadFile("../../../../docs/performance.md")
	require.NoError(t, err, remedy)
	assert.Equal(t, string(page), string(inDocs), remedy)
	inDocs, err = os.ReadFile("../../../../docs/" + picturePath)
	require.NoError(t, err, remedy)
	assert.True(t, bytes.Equal(Picture(recorded(t).Curves), inDocs), remedy)
}

func TestThePageShowsAChangedFigure(t *testing.T) {
	r := recorded(t)
	before, err := Page(r, "")
	require.NoError(t, err)
	r.Whole.Contenders[0].CPU.Median *= 1.01
	after, err := Page(r, "")
	require.NoError(t, err)
	assert.NotEqual(t, string(before), string(after))

	r.Curves = nil
	_, err = Page(r, "")
	require.ErrorContains(t, err, "-curves all")
}

func TestThePictureIsXML(t *testing.T) {
	decoder := xml.NewDecoder(bytes.NewReader(Picture(recorded(t).Curves)))
	lines := 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "path" {
			lines++
		}
	}
	assert.Greater(t, lines, 20)
	assert.NotContains(t, string(Picture(recorded(t).Curves)), "NaN")
}

func TestScale(t *testing.T) {
	s := newScale([]float64{3, 40}, 200, 0)
	assert.InDelta(t, 2, s.low, 1e-9)
	assert.InDelta(t, 50, s.high, 1e-9)
	assert.InDeltaSlice(t, []float64{2, 5, 10, 20, 50}, s.ticks(), 1e-9)
	assert.InDelta(t, 200, s.at(2), 1e-9)
	assert.InDelta(t, 0, s.at(60), 1e-9, "outside of the scale")
	assert.InDelta(t, 100, s.at(10), 1e-9, "halfway, as 10 is to 2 what 50 is to 10")
}

func TestTables(t *testing.T) {
	out := Tables(recorded(t))
	for _, word := range []string{"stock_equivalent", "fixed 20000 spans", "Processors alone", "by clients"} {
		assert.Contains(t, out, word)
	}
}

func TestVerdicts(t *testing.T) {
	out := Verdicts([]limits.Verdict{
		{Limit: limits.Limit{Ratio: "cpu a/b", Recorded: 1, Headroom: 0.1}},
		{Limit: limits.Limit{Ratio: "cpu c/d", Goal: 1.9}, Missed: true, Measured: results.Ratio{Summary: stats.Summary{Median: 2, Spread: 0.1}}},
	})
	assert.Regexp(t, `(?m)^ok +cpu a/b .* 1\.10 \+ spread +–$`, out)
	assert.Regexp(t, `(?m)^MISSED +cpu c/d +2\.00 ± 0\.10 .* 1\.90$`, out)
}

func TestNumber(t *testing.T) {
	for want, x := range map[string]float64{"1234": 1234.4, "12.3": 12.34, "1.23": 1.234, "0.123": 0.1234, "0.000": 0, "-2.000": -2} {
		assert.Equal(t, want, number(x))
	}
}
