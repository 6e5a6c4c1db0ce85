package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/runspan/runspan/internal/tracefile"
)

// multiset returns the spans of a file with their runs and what is around them, and how often each is
// there.
func multiset(tb testing.TB, path string) map[string]int {
	tb.Helper()
	data := readFile(tb, path)
	spans := map[string]int{}
	sum, err := tracefile.Scan(tb.Context(), bytes.NewReader(data), int64(len(data)), tracefile.ScanOptions{}, func(l *tracefile.ScannedLine) error {
		require.Nil(tb, l.Bad)
		for _, rs := range l.Traces.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					one := ptrace.NewTraces()
					rs2 := one.ResourceSpans().AppendEmpty()
					rs.Resource().CopyTo(rs2.Resource())
					ss2 := rs2.ScopeSpans().AppendEmpty()
					ss.Scope().CopyTo(ss2.Scope())
					span.CopyTo(ss2.Spans().AppendEmpty())
					for s := range tracefile.SpansOf(one) {
						spans[fmt.Sprintf("%q %s", s.Run, tracefile.AppendTraces(nil, one))]++
					}
				}
			}
		}
		return nil
	})
	require.NoError(tb, err)
	require.Zero(tb, sum.TailBytes)
	return spans
}

// runsOf returns the runs of a file.
func runsOf(spans map[string]int) map[string]bool {
	runs := map[string]bool{}
	for key := range spans {
		run, _, _ := strings.Cut(key, `" `)
		runs[run] = true
	}
	return runs
}

// fuzzRuns are run ids that meet: case, folders, segments, side files, too long for a name, none.
var fuzzRuns = []string{
	"", "a", "A", "unassigned", "..", "/abs", "a/b", "a.jsonl", "x-20261201T090000Z-1", "训练", "a.jsonl.lock", ".hidden", "%61",
	strings.Repeat("long", 64), strings.Repeat("long", 63) + "lonG", " ", "a\nb",
}

// Split and merge are inverse: merging what split made gives the same spans of the same runs, and every
// file of a split has the spans of one run.
func FuzzSplitAndMerge(f *testing.F) {
	f.Add([]byte{1, 2, 0, 3, 1, 255, 4, 4, 0, 255})
	f.Add([]byte{255, 0, 0, 0, 255, 3, 0, 0})
	f.Add(bytes.Repeat([]byte{5, 13, 14, 15, 16, 255, 6, 7}, 40))
	f.Fuzz(func(t *testing.T, recipe []byte) {
		var data []byte
		var spans []spanOf
		for i, b := range recipe[:min(len(recipe), 400)] {
			if b == 255 {
				if len(spans) > 0 {
					data = append(data, line(spans...)...)
				}
				spans = nil
				continue
			}
			n := len(fuzzRuns)
			spans = append(spans, spanOf{resourceRun: fuzzRuns[int(b)%n], run: fuzzRuns[int(b)/n%n], number: byte(i + 1)})
		}
		if len(spans) > 0 {
			data = append(data, line(spans...)...)
		}
		dir := t.TempDir()
		path := writeFile(t, data, dir, "shared.jsonl")
		code, _, stderr := runspan(t.Context(), "split", path, "--into", filepath.Join(dir, "runs"))
		require.Equal(t, ExitClean, code, stderr)
		if len(data) == 0 {
			return
		}
		files, err := filepath.Glob(filepath.Join(dir, "runs", "*", "traces.jsonl"))
		require.NoError(t, err)
		for _, file := range files {
			runs := runsOf(multiset(t, file))
			if filepath.Base(filepath.Dir(file)) == "unassigned" {
				delete(runs, `"`)
				delete(runs, `"unassigned`)
				require.Empty(t, runs)
				continue
			}
			require.Len(t, runs, 1, "one run in %s", file)
		}
		merged := filepath.Join(dir, "merged.jsonl")
		code, _, stderr = runspan(t.Context(), "merge", filepath.Join(dir, "runs"), "--into", merged)
		require.Equal(t, ExitClean, code, stderr)
		require.Equal(t, multiset(t, path), multiset(t, merged))
	})
}

// More runs than files may be open, taking turns.
func TestSplitOfManyRuns(t *testing.T) {
	var data []byte
	const runs = 3*splitOpen + 5
	for round := range byte(3) {
		for run := range runs {
			data = append(data, line(spanOf{run: fmt.Sprintf("run-%d", run), number: round + 1})...)
		}
	}
	dir := t.TempDir()
	path := writeFile(t, data, dir, "shared.jsonl")
	code, stdout, stderr := runspan(t.Context(), "split", path, "--into", filepath.Join(dir, "runs"), "--name", "{run.id}.jsonl")
	require.Equal(t, ExitClean, code, stderr)
	assert.Contains(t, stdout, "591 spans of 197 runs in 197 files")
	for run := range runs {
		name := fmt.Sprintf("run-%d", run)
		var want []byte
		for round := range byte(3) {
			want = append(want, line(spanOf{run: name, number: round + 1})...)
		}
		require.Equal(t, string(want), string(readFile(t, filepath.Join(dir, "runs", name+".jsonl"))), "in its order, byte by byte")
	}
}

// A line of one run is copied as it is, also with white space and keys that nobody knows.
func TestSplitCopiesALineOfOneRun(t *testing.T) {
	dir := t.TempDir()
	odd := strings.Replace(string(line(spanOf{run: "a", number: 1})), `{"resourceSpans"`, `{ "new": 1, "resourceSpans"`, 1)
	path := writeFile(t, []byte(odd), dir, "shared.jsonl")
	code, _, stderr := runspan(t.Context(), "split", path, "--into", filepath.Join(dir, "runs"))
	require.Equal(t, ExitClean, code, stderr)
	require.Equal(t, odd, string(readFile(t, filepath.Join(dir, "runs/a/traces.jsonl"))))
}

// Ctrl-C, a full folder and a missing one leave nothing behind.
func TestNothingIsLeftBehind(t *testing.T) {
	dir := t.TempDir()
	path := writeFile(t, line(spanOf{run: "a", number: 1}), dir, "in", "shared.jsonl")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{
		{"split", path, "--into", dir + "/runs"},
		{"merge", path, "--into", dir + "/merged.jsonl"},
		{"repair", path, "--output", dir + "/repaired.jsonl"},
	} {
		code, _, stderr := runspan(ctx, args...)
		require.Equal(t, ExitInterrupted, code, "%s: %s", args[0], stderr)
		require.Contains(t, stderr, "interrupted")
	}
	for _, args := range [][]string{
		{"split", path, dir + "/nothing.jsonl", "--into", dir + "/runs"},
		{"merge", path, dir + "/nothing.jsonl", "--into", dir + "/merged.jsonl"},
		{"merge", path, "/dev/null", "--into", dir + "/merged.jsonl"},
		{"split", path, "/dev/null", "--into", dir + "/runs"},
		{"merge", path, "--into", dir + "/no/folder/merged.jsonl"},
	} {
		code, _, stderr := runspan(t.Context(), args...)
		require.Equal(t, ExitFailed, code, "%v: %s", args, stderr)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "only what was there: %v", entries)
}
