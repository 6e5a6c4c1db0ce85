package tracefile

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheckLoop(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "real")
	require.NoError(t, os.Mkdir(folder, 0o700))
	require.NoError(t, os.Symlink("real", filepath.Join(dir, "link")))
	for _, tc := range []struct {
		include, path string
		loop          bool
	}{
		{"real/traces.jsonl", "real/traces.jsonl", true},
		{"real/*.jsonl", "real/traces.jsonl", true},
		{"link/traces.jsonl", "real/traces.jsonl", true},
		{"real/traces.jsonl", "link/../link/./traces.jsonl", true},
		{"real/traces.jsonl", "real/traces-20261201T090000Z-1.jsonl", true},
		{"*/traces.jsonl", "run 7/traces.jsonl", true},
		{"real/traces.jsonl", "real/other.jsonl", false},
		{"real/traces.jsonl", "other/traces.jsonl", false},
	} {
		include := []string{filepath.Join(dir, tc.include)}
		path := dir + "/" + tc.path
		err := CheckLoop(WithTail(t.Context(), include), path)
		assert.Equal(t, tc.loop, err != nil, "%+v", tc)
		if err != nil {
			require.ErrorIs(t, err, ErrLoop)
		}
		unregister := RegisterWriter("run_file", path)
		assert.Equal(t, tc.loop, WriterFeeds("run_file", include), "%+v", tc)
		assert.False(t, WriterFeeds("run_file/other", include))
		unregister()
		assert.False(t, WriterFeeds("run_file", include))
	}
	assert.NoError(t, CheckLoop(context.Background(), filepath.Join(dir, "real", "traces.jsonl")))
}
