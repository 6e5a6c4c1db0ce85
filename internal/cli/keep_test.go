package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestKeepLimits(t *testing.T) {
	now := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	day := func(n int) time.Time { return now.AddDate(0, 0, -n) }
	// The oldest first, as prune sorts them: a log of two runs in three segments, and a run of its own.
	newFiles := func() []*pruneFile {
		return []*pruneFile{
			{File: "1", Bytes: 100, Written: day(4), runs: map[string]time.Time{"a": day(5)}},
			{File: "2", Bytes: 100, Written: day(3), runs: map[string]time.Time{"a": day(4), "b": day(4)}},
			{File: "own", Bytes: 100, Written: day(2), runs: map[string]time.Time{"c": day(2)}},
			{File: "3", Bytes: 100, Written: day(1), runs: map[string]time.Time{"b": day(1)}},
			{File: "odd", Bytes: 100, Written: now, bad: true, runs: map[string]time.Time{"a": day(6)}},
		}
	}
	for _, tc := range []struct {
		keep, kept, gone string
	}{
		{keep: "100d"},
		{keep: "3d", gone: "1"}, // the second is exactly as old as may be
		{keep: "71h", gone: "1 2"},
		{keep: "1w"},
		{keep: "500B"},
		{keep: "499B", gone: "1"},
		{keep: "200B", gone: "1 2 own"},
		{keep: "200B", kept: "1 own", gone: "2 3 odd"},
		{keep: "3runs"},
		{keep: "2runs", gone: "1"},     // b and c
		{keep: "1run", gone: "1 own"},  // b; the odd one has bad lines
		{keep: "3d 399B", gone: "1 2"}, // either of them
		{keep: "1run 150B", gone: "1 2 own 3"},
	} {
		t.Run(tc.keep+" "+tc.kept, func(t *testing.T) {
			var keep keepLimits
			for text := range strings.FieldsSeq(tc.keep) {
				require.NoError(t, keep.Set(text))
			}
			asked := map[string]int{}
			files := newFiles()
			if !strings.HasSuffix(tc.keep, "B") && keep.runs == 0 {
				files[4].bad = false
			}
			require.NoError(t, keep.apply(files, now, func(f *pruneFile) (string, error) {
				asked[f.File]++
				if strings.Contains(tc.kept, f.File) {
					return keptPinned, nil
				}
				return "", nil
			}))
			var gone []string
			for _, f := range files {
				if f.Why != "" && f.Kept == "" {
					gone = append(gone, f.File)
				}
				assert.LessOrEqual(t, asked[f.File], 1)
			}
			assert.Equal(t, tc.gone, strings.Join(gone, " "))
		})
	}
	t.Run("an error ends it", func(t *testing.T) {
		var keep keepLimits
		require.NoError(t, keep.Set("1d"))
		broken := errors.New("broken")
		require.ErrorIs(t, keep.apply(newFiles(), now, func(*pruneFile) (string, error) { return "", broken }), broken)
	})
}

func TestKeepLimitsSet(t *testing.T) {
	for _, text := range []string{"", "d", "5", "0d", "-3d", "1.5d", "0runs", "-1B", "0B", "5m", "5y", "runs", "1d2h", fmt.Sprintf("%dw", 1<<20)} {
		var keep keepLimits
		assert.Error(t, keep.Set(text), text)
	}
}
