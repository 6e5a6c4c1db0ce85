package cli

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What would be read the next time is no target, by whatever path it is named.
func TestTargetWithinWhatIsRead(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, line(spanOf{run: "a", number: 1}), "d/deep/traces.jsonl")
	require.NoError(t, os.Symlink("d", "link"))
	for _, args := range [][]string{
		{"split", "d", "--into", "d/by"},
		{"split", "d", "--into", "d/deep/by/run"},
		{"split", "d", "--into", "link/by"},
		{"split", "link/", "--into", "./d/../d/by"},
		{"split", "d*", "--into", "d/by"},
		{"split", ".", "--into", "by"},
		{"merge", "d", "--into", "d/all.jsonl"},
		{"merge", "link/deep", "--into", "d/deep/all.jsonl"},
		{"merge", "d/deep/*.jsonl", "--into", "d/deep/all.jsonl"},
	} {
		code, _, stderr := runspan(t.Context(), args...)
		assert.Equal(t, ExitFailed, code, "%v", args)
		assert.Regexp(t, `runspan: --into \S+: .* so that it would be read the next time: name `, stderr, "%v", args)
	}
	files, err := os.ReadDir("d")
	require.NoError(t, err)
	require.Len(t, files, 1, "nothing was made")
	for _, args := range [][]string{
		{"split", "d", "--into", "d-by"},
		{"split", "d/deep", "--into", "d/by"},
		{"merge", "d/deep/traces.jsonl", "--into", "d/deep/all.jsonl"},
		{"merge", "d/deep/t*.jsonl", "--into", "d/deep/joined.jsonl"},
	} {
		code, _, stderr := runspan(t.Context(), args...)
		assert.Equal(t, ExitClean, code, "%v: %s", args, stderr)
	}
}
