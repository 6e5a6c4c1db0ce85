package cli

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// With --json there is one object on the standard output, whatever goes wrong; the text stays on the
// standard error.
func TestJSONAfterAnError(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, line(spanOf{run: "a", number: 1}), "traces.jsonl")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tc := range []struct {
		ctx  context.Context
		args []string
		code int
		says string
	}{
		{args: []string{"check", "none.jsonl"}, code: ExitFailed, says: "there is no trace file to read: stat none.jsonl: no such file or directory"},
		{args: []string{"runs", "none-*.jsonl"}, code: ExitFailed, says: `there is no trace file to read: no file matches "none-*.jsonl"`},
		{args: []string{"repair", "none.jsonl"}, code: ExitFailed, says: "stat none.jsonl: no such file or directory"},
		{args: []string{"split", "traces.jsonl"}, code: ExitFailed, says: "--into is missing"},
		{args: []string{"merge", "traces.jsonl", "none.jsonl", "--into", "x.jsonl"}, code: ExitFailed, says: "nothing was merged: a part of the files could not be found: stat none.jsonl"},
		{args: []string{"prune", "traces.jsonl"}, code: ExitFailed, says: "--keep is missing"},
		{args: []string{"pin", "none.jsonl"}, code: ExitFailed, says: "nothing was done: stat none.jsonl"},
		{args: []string{"check"}, code: ExitFailed, says: "usage: runspan check PATH..."},
		{args: []string{"chek"}, code: ExitFailed, says: `unknown command "chek"`},
		{args: []string{"check", "--jsn", "x"}, code: ExitFailed, says: "unknown flag: --jsn"},
		{ctx: canceled, args: []string{"runs", "traces.jsonl"}, code: ExitInterrupted, says: "interrupted"},
		{args: []string{"runs", "traces.jsonl"}, code: ExitClean},
		{args: []string{"runs", "traces.jsonl", "none.jsonl"}, code: ExitFailed}, // with what could be read
	} {
		if tc.ctx == nil {
			tc.ctx = t.Context()
		}
		code, stdout, stderr := runspan(tc.ctx, append(tc.args, "--json")...)
		assert.Equal(t, tc.code, code, "%v", tc.args)
		var object struct{ Error string }
		require.NoError(t, json.Unmarshal([]byte(stdout), &object), "%v: %q", tc.args, stdout)
		if tc.says == "" {
			assert.Empty(t, object.Error, "%v", tc.args)
			continue
		}
		assert.Contains(t, object.Error, tc.says)
		assert.Contains(t, stderr, "runspan: ")
		_, stdout, _ = runspan(tc.ctx, tc.args...)
		assert.Empty(t, stdout, "%v", tc.args)
	}
}
