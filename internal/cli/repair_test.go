package cli

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/internal/tracefile"
)

// Whatever happens to one byte of a file, at any place: the copy holds every line that was not touched,
// and nothing but whole lines.
func TestRepairKeepsEveryLineThatWasWhole(t *testing.T) {
	lines := [][]byte{
		line(spanOf{resourceRun: "a", number: 1}),
		line(spanOf{run: "b", number: 2}),
		line(spanOf{run: "c", number: 3}),
	}
	file := slices.Concat(lines...)
	if _, err := os.Stat("/dev/shm"); err == nil {
		t.Setenv("TMPDIR", "/dev/shm") // thousands of copies, each brought to the disk
	}
	dir := t.TempDir()
	path, copied := dir+"/traces.jsonl", dir+"/traces.jsonl.repaired"
	for i := range file {
		for what, damaged := range map[string][]byte{
			"removed":     slices.Concat(file[:i], file[i+1:]),
			"doubled":     slices.Concat(file[:i+1], file[i:]),
			"a newline":   slices.Concat(file[:i], []byte("\n"), file[i+1:]),
			"a quote":     slices.Concat(file[:i], []byte(`"`), file[i+1:]),
			"a backslash": slices.Concat(file[:i], []byte(`\`), file[i+1:]),
			"a brace":     slices.Concat(file[:i], []byte(`{`), file[i+1:]),
			"a zero":      slices.Concat(file[:i], []byte{0}, file[i+1:]),
			"a letter":    slices.Concat(file[:i], []byte("x"), file[i+1:]),
			"not UTF-8":   slices.Concat(file[:i], []byte{0xff}, file[i+1:]),
			"the next":    slices.Concat(file[:i], []byte{file[i] + 1}, file[i+1:]),
			"one bit":     slices.Concat(file[:i], []byte{file[i] ^ 1}, file[i+1:]),
			"cut off":     file[:i],
		} {
			require.NoError(t, os.WriteFile(path, damaged, 0o600))
			require.NoError(t, os.RemoveAll(copied))
			code, _, stderr := runspan(t.Context(), "repair", path)
			require.Contains(t, []int{ExitClean, ExitFindings}, code, stderr)
			got := readFile(t, copied)
			start := 0
			for n, whole := range lines {
				end := start + len(whole)
				// The newline is the line's border, not a part of what it says: without it the line is
				// still there.
				untouched := i < start || i >= end-1
				if what == "cut off" {
					untouched = i >= end-1
				}
				if untouched && !bytes.Contains(got, whole) {
					t.Fatalf("byte %d %s: line %d is not kept:\n%s", i, what, n+1, got)
				}
				start = end
			}
			sum, err := tracefile.Scan(t.Context(), bytes.NewReader(got), int64(len(got)), tracefile.ScanOptions{}, func(l *tracefile.ScannedLine) error {
				require.Nil(t, l.Bad, "byte %d %s: the copy has a bad line: %s", i, what, l.Data)
				return nil
			})
			require.NoError(t, err)
			require.Zero(t, sum.TailBytes)
			require.Equal(t, damaged, readFile(t, path), "never in place")
		}
	}
}

func TestRepairOfAnEmptyFile(t *testing.T) {
	path := writeFile(t, nil, t.TempDir(), "traces.jsonl")
	code, stdout, _ := runspan(t.Context(), "repair", path)
	require.Equal(t, ExitClean, code)
	require.Contains(t, stdout, "nothing was wrong")
	require.Empty(t, readFile(t, path+".repaired"))
}
