package cli

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLogsOf(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{
		"data/traces.jsonl", "data/traces-20261201T090000Z-2.jsonl", "data/traces-20261201T090000Z-10.jsonl",
		"data/traces-20261101T090000Z-1.jsonl", "data/traces.jsonl.torn", "data/traces.jsonl.lock", "data/traces.jsonl.repaired",
		"data/deep/er/run.jsonl", "data/.hidden/x.jsonl", "data/.x.jsonl", "other[1].jsonl", "odd.log",
	} {
		writeFile(t, []byte("x\n"), name)
	}
	require.NoError(t, os.Symlink("data", "link"))
	log := []string{
		"data/traces-20261101T090000Z-1.jsonl", "data/traces-20261201T090000Z-2.jsonl", "data/traces-20261201T090000Z-10.jsonl", "data/traces.jsonl",
	}
	for _, tc := range []struct {
		name  string
		paths []string
		want  [][]string
		fails bool
	}{
		{name: "a folder", paths: []string{"data"}, want: [][]string{{"data/deep/er/run.jsonl"}, log}},
		{name: "a link to a folder", paths: []string{"link/deep"}, want: [][]string{{"link/deep/er/run.jsonl"}}},
		{name: "files named twice come once", paths: []string{"data/traces.jsonl", "./data", "data/traces.jsonl"}, want: [][]string{{"data/deep/er/run.jsonl"}, log}},
		{name: "a pattern", paths: []string{"data/traces*.jsonl"}, want: [][]string{log}},
		{name: "a pattern of folders", paths: []string{"d*"}, want: [][]string{{"data/deep/er/run.jsonl"}, log}},
		{name: "a name that looks like a pattern", paths: []string{"other[1].jsonl"}, want: [][]string{{"other[1].jsonl"}}},
		{name: "a file of any name", paths: []string{"odd.log"}, want: [][]string{{"odd.log"}}},
		{name: "a segment alone", paths: []string{log[1]}, want: [][]string{{log[1]}}},
		{name: "something missing", paths: []string{"odd.log", "none"}, want: [][]string{{"odd.log"}}, fails: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := newApp(io.Discard, io.Discard)
			logs, err := a.logsOf(tc.paths)
			require.NoError(t, err)
			var got [][]string
			for _, log := range logs {
				got = append(got, log.files)
				assert.Equal(t, int64(2*len(log.files)), log.bytes)
			}
			assert.Equal(t, tc.want, got)
			assert.Equal(t, tc.fails, a.failed)
		})
	}
}

// A file that cannot be read is said, and the rest is read.
func TestAFileThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, []byte("x\n"), dir, "traces.jsonl")
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "broken.jsonl")))
	a := newApp(io.Discard, io.Discard)
	logs, err := a.logsOf([]string{dir})
	require.NoError(t, err)
	require.Len(t, logs, 2)
	code, stdout, stderr := runspan(t.Context(), "check", dir)
	assert.Equal(t, ExitFailed, code)
	assert.Contains(t, stdout, "traces.jsonl: 1 line")
	assert.Contains(t, stderr, "broken.jsonl: no such file")
}
