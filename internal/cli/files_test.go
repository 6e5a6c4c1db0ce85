package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

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
	code, stdout, stderr := runspan(t.Context(), "check", filepath.Join(dir, "*.jsonl"))
	assert.Equal(t, ExitFailed, code)
	assert.Contains(t, stdout, "traces.jsonl: 1 line")
	assert.Contains(t, stderr, "broken.jsonl: no such file")
}

// A file counts once, by whatever names it is reached.
func TestAFileOfSeveralNames(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	writeFile(t, line(spanOf{run: "a", number: 1}), "data/a/traces.jsonl")
	writeFile(t, line(spanOf{run: "b", number: 2}), "data/b/traces.jsonl")
	require.NoError(t, os.Symlink("a/traces.jsonl", "data/0-latest.jsonl"))
	require.NoError(t, os.Symlink("a", "data/folder"))
	require.NoError(t, os.Symlink("nowhere", "data/broken.jsonl"))
	require.NoError(t, os.Link("data/b/traces.jsonl", "data/hard.jsonl"))
	require.NoError(t, os.Symlink("data", "link"))
	require.NoError(t, os.Mkdir("links", 0o700))
	require.NoError(t, os.Symlink("../data/a/traces.jsonl", "links/latest.jsonl"))
	files := []string{"data/a/traces.jsonl", "data/b/traces.jsonl"}
	for _, tc := range []struct {
		name        string
		paths, want []string
	}{
		{name: "in a folder", paths: []string{"data"}, want: files},
		{name: "of a pattern", paths: []string{"data/0*.jsonl", "data"}, want: files},
		{name: "a folder and a link to it", paths: []string{"link", "data"}, want: files},
		{name: "a link that is named is followed", paths: []string{"data/0-latest.jsonl"}, want: []string{"data/0-latest.jsonl"}},
		{name: "a link that is named twice", paths: []string{"links/latest.jsonl", "data/0-latest.jsonl"}, want: []string{"data/0-latest.jsonl"}},
		{name: "a link to a folder that is named is followed", paths: []string{"data/folder"}, want: []string{"data/folder/traces.jsonl"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var stderr strings.Builder
			a := newApp(io.Discard, &stderr)
			logs, err := a.logsOf(tc.paths)
			require.NoError(t, err)
			var got []string
			for _, log := range logs {
				got = append(got, log.files...)
			}
			assert.Equal(t, tc.want, got)
			assert.Empty(t, stderr.String())
		})
	}
	code, stdout, stderr := runspan(t.Context(), "runs", "--json", "data", "link", "data/0-latest.jsonl")
	require.Equal(t, ExitClean, code, stderr)
	assert.Equal(t, 2, strings.Count(stdout, `"spans": 1,`), stdout)
	assert.Contains(t, stdout, `"files": 2,`)
	code, _, stderr = runspan(t.Context(), "runs", "links")
	assert.Equal(t, ExitFailed, code)
	assert.Contains(t, stderr, "links: no trace file (*.jsonl) in it or below: 1 link in it passed over: name the files that they lead to")
}

// A link makes prune delete no file more, and is not deleted in place of its file.
func TestPruneOfAFileOfSeveralNames(t *testing.T) {
	t.Chdir(t.TempDir())
	old := time.Now().Add(-time.Hour)
	total := 0
	for i, name := range []string{"data/a/traces.jsonl", "data/b/traces.jsonl"} {
		data := line(spanOf{run: "a", number: byte(i + 1)})
		total += len(data)
		writeFile(t, data, name)
		require.NoError(t, os.Chtimes(name, old, old))
	}
	require.NoError(t, os.Symlink("a/traces.jsonl", "data/latest.jsonl"))
	require.NoError(t, os.Link("data/b/traces.jsonl", "data/hard.jsonl"))
	code, stdout, stderr := runspan(t.Context(), "prune", "data", "--keep", fmt.Sprintf("%dB", total))
	require.Equal(t, ExitClean, code, stderr)
	assert.Contains(t, stdout, "deleted 0 files")
	code, stdout, stderr = runspan(t.Context(), "prune", "data/latest.jsonl", "--keep", "1B")
	require.Equal(t, ExitClean, code, stderr)
	assert.Contains(t, stdout, ": a link: name the file that it leads to")
	assert.FileExists(t, "data/latest.jsonl")
}

// The open of a FIFO waits for a writer, for ever: none is opened.
func TestNoRegularFile(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, line(spanOf{run: "a", number: 1}), "data/traces.jsonl")
	require.NoError(t, syscall.Mkfifo("data/fifo.jsonl", 0o600))
	type result struct {
		code           int
		stdout, stderr string
	}
	run := func(args ...string) result {
		done := make(chan result, 1)
		go func() {
			var r result
			r.code, r.stdout, r.stderr = runspan(t.Context(), args...)
			done <- r
		}()
		select {
		case r := <-done:
			return r
		case <-time.After(10 * time.Second):
			require.Fail(t, "it hangs", "%v", args)
			return result{}
		}
	}
	for _, args := range [][]string{
		{"check", "data/fifo.jsonl"},
		{"check", "data/f*.jsonl"},
		{"runs", "data/fifo.jsonl"},
		{"repair", "data/fifo.jsonl"},
		{"split", "data/fifo.jsonl", "--into", "x"},
		{"merge", "data/fifo.jsonl", "--into", "x.jsonl"},
		{"prune", "data/fifo.jsonl", "--keep", "1d"},
		{"pin", "data/fifo.jsonl"},
	} {
		r := run(args...)
		assert.Equal(t, ExitFailed, r.code, "%v", args)
		assert.Regexp(t, "data/fifo.jsonl is no (regular )?file: ", r.stderr, "%v", args)
	}
	r := run("check", "data")
	assert.Equal(t, ExitClean, r.code)
	assert.Contains(t, r.stdout, "data/traces.jsonl: 1 line")
	assert.Contains(t, r.stderr, "data/fifo.jsonl is no regular file: passed over")

	// It comes to the path after the look at it.
	a := newApp(io.Discard, io.Discard)
	failed := make(chan error, 1)
	go func() {
		_, err := a.scan(t.Context(), "data/fifo.jsonl", &progress{}, nil)
		failed <- err
	}()
	select {
	case err := <-failed:
		require.ErrorContains(t, err, "is no regular file")
	case <-time.After(10 * time.Second):
		require.Fail(t, "it hangs")
	}
}
