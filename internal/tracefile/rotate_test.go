package tracefile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// logFiles returns the files of a log in the order in which a reader takes them.
func logFiles(t *testing.T, path string) []string {
	t.Helper()
	files, err := tailGlob(path)
	require.NoError(t, err)
	slices.SortFunc(files, func(a, b string) int { return tailOrderOf(a).compare(tailOrderOf(b)) })
	return files
}

// logContent returns what a reader gets of a log.
func logContent(t *testing.T, path string) string {
	t.Helper()
	var all strings.Builder
	for _, file := range logFiles(t, path) {
		all.WriteString(content(t, file))
	}
	return all.String()
}

func TestRotation_ByBytes(t *testing.T) {
	for _, durability := range []Durability{DurabilityWrite, DurabilitySync} {
		t.Run(string(durability), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "traces.jsonl")
			var seen counts
			opts := testOptions(path)
			opts.Durability, opts.Observer, opts.Rotation.MaxBytes = durability, &seen, 30
			a := mustOpen(t, opts)
			var want strings.Builder
			for i := range 50 {
				line := fmt.Sprintf("line %d\n", i)
				want.WriteString(line)
				require.NoError(t, put(t.Context(), a, []byte(line)))
			}
			long := strings.Repeat("x", 100) + "\n"
			require.NoError(t, put(t.Context(), a, []byte(long), []byte("last\n")))
			require.Equal(t, want.String()+long+"last\n", logContent(t, path))
			files := logFiles(t, path)
			require.Len(t, files, len(seen.rotated)+1)
			require.Equal(t, append(slices.Clone(seen.rotated), path), files, "readers take them in the order of their closing")
			for _, file := range files {
				text := content(t, file)
				assert.True(t, strings.HasSuffix(text, "\n"), "never within a line")
				assert.True(t, len(text) <= 30 || text == long, text)
			}
			require.NoError(t, put(t.Context(), a, []byte("line 0\n")))
			assert.Equal(t, 1, seen.duplicates, "a retry is known behind a rotation")
			require.NoError(t, a.Close(t.Context()))
			assert.Zero(t, seen.lost)
			assert.Empty(t, seen.moved)
		})
	}
}

func TestRotation_ByAge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	var seen counts
	opts := testOptions(path)
	opts.Observer, opts.Rotation.MaxAge = &seen, 200*time.Millisecond
	a := mustOpen(t, opts)
	time.Sleep(700 * time.Millisecond)
	assert.Equal(t, []string{path}, logFiles(t, path), "a file without a line is not closed")
	require.NoError(t, put(t.Context(), a, []byte("one\n")))
	soon(t, func() bool { return len(logFiles(t, path)) == 2 }, "closed without a further line")
	soon(t, func() bool { _, err := os.Stat(path); return err == nil }, "the live file is always there")
	require.NoError(t, put(t.Context(), a, []byte("two\n")))
	require.NoError(t, a.Close(t.Context()))
	assert.Equal(t, "one\ntwo\n", logContent(t, path))

	// The age is that of the file, not that of the process.
	time.Sleep(250 * time.Millisecond)
	a = mustOpen(t, opts)
	require.NoError(t, put(t.Context(), a, []byte("three\n")))
	assert.Equal(t, "three\n", content(t, path))
	require.NoError(t, a.Close(t.Context()))
}

// A name is behind all others, also after the clock was set back or another writer left finer times.
func TestRotation_NamesAreInOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	for _, before := range []string{
		SegmentPath(path, time.Now().Add(-time.Hour), 7), SegmentPath(path, time.Now().Add(time.Hour), 41),
		strings.TrimSuffix(path, ".jsonl") + "-20991201T090000.123Z-3.jsonl",
		strings.TrimSuffix(path, ".jsonl") + "-20991201T090002Z-99999999999999999999.jsonl",
	} {
		require.NoError(t, os.WriteFile(before, []byte(before+"\n"), 0o600))
		opts := testOptions(path)
		opts.Rotation.MaxBytes = 10
		a := mustOpen(t, opts)
		var want []string
		for i := range 5 {
			line := fmt.Sprintf("line %d %s\n", i, before)
			want = append(want, line)
			require.NoError(t, put(t.Context(), a, []byte(line)))
		}
		require.NoError(t, a.Close(t.Context()))
		files := logFiles(t, path)
		var got []string
		for _, file := range files[len(files)-5:] {
			got = append(got, content(t, file))
		}
		assert.Equal(t, want, got, "%v", files)
	}
}

// A file that cannot be renamed is written on.
func TestRotation_Fails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	for name, fails := range map[string]func(fs *faultFS){
		"rename": func(fs *faultFS) { fs.rename = func() error { return syscall.EACCES } },
		"fsync":  func(fs *faultFS) { fs.sync = func(*os.File) error { return syscall.EIO } },
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.RemoveAll(path))
			var seen counts
			faults := &faultFS{}
			opts := testOptions(path)
			opts.SyncInterval, opts.fs, opts.Observer, opts.Rotation.MaxBytes = 0, faults, &seen, 10
			a := mustOpen(t, opts)
			require.NoError(t, put(t.Context(), a, []byte("line 1\n")))
			faults.set(fails)
			err := put(t.Context(), a, []byte("line 2\n"))
			if name == "fsync" {
				require.ErrorIs(t, err, syscall.EIO)
				faults.set(func(fs *faultFS) { fs.sync = nil })
				time.Sleep(250 * time.Millisecond) // the time between two repairs
				require.NoError(t, put(t.Context(), a, []byte("line 2\n")))
			} else {
				require.NoError(t, err)
			}
			assert.Equal(t, "line 1\nline 2\n", content(t, path))
			require.Len(t, seen.unrotated, 1, "not tried again at once")
			require.NoError(t, a.Close(t.Context()))
		})
	}
}

// The disk is full when the new file is to be made: nothing is lost, and writing goes on by itself.
func TestRotation_NewFileCannotBeMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	faults := &faultFS{}
	opts := testOptions(path)
	opts.fs, opts.Rotation.MaxBytes = faults, 10
	a := mustOpen(t, opts)
	require.NoError(t, put(t.Context(), a, []byte("line 1\n")))
	faults.set(func(fs *faultFS) {
		fs.open = func(string) error { return fmt.Errorf("no inode: %w", syscall.ENOSPC) }
	})
	err := put(t.Context(), a, []byte("line 2\n"))
	require.ErrorIs(t, err, syscall.ENOSPC)
	faults.set(func(fs *faultFS) { fs.open = nil })
	soon(t, func() bool { return put(t.Context(), a, []byte("line 2\n")) == nil }, "written again")
	assert.Equal(t, "line 1\nline 2\n", logContent(t, path))
}

// Somebody else's file at the path is not taken for a segment.
func TestRotation_AnotherFileTookItsPlace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "traces.jsonl")
	var seen counts
	opts := testOptions(path)
	opts.Observer, opts.Rotation.MaxBytes = &seen, 10
	a := mustOpen(t, opts)
	require.NoError(t, put(t.Context(), a, []byte("line 1\n")))
	require.NoError(t, os.Rename(path, filepath.Join(dir, "moved")))
	require.NoError(t, os.WriteFile(path, []byte("theirs\n"), 0o600))
	require.NoError(t, put(t.Context(), a, []byte("line 2\n")))
	soon(t, func() bool { return content(t, path) == "theirs\n" }, "it is left alone")
	assert.Equal(t, "line 1\nline 2\n", content(t, filepath.Join(dir, "moved")))
	if errors.Is(seen.unrotated[0], os.ErrNotExist) {
		t.Fatal(seen.unrotated[0])
	}
	require.NoError(t, a.Close(t.Context()))
}

// A reader that follows a log under rotation gets every line once.
func TestRotation_ReaderGetsEveryLineOnce(t *testing.T) {
	x := newTailFixture(t, func(set *TailSettings) { set.MaxBatchBytes = 4 << 10 })
	opts := testOptions(x.path("traces.jsonl"))
	opts.RetryLines, opts.Rotation.MaxBytes = 0, 2000
	a := mustOpen(t, opts)
	const lines = 5000
	written := make(chan error, 1)
	go func() {
		for i := range lines {
			if err := put(t.Context(), a, fmt.Appendf(nil, "line %d\n", i)); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	seen := map[string]int{}
	for running := true; running; {
		select {
		case err := <-written:
			require.NoError(t, err)
			running = false
		default:
		}
		for line := range strings.Lines(x.deliver(t)) {
			seen[line]++
		}
	}
	require.Len(t, seen, lines)
	for line, n := range seen {
		require.Equal(t, 1, n, line)
	}
	require.NoError(t, a.Close(t.Context()))
	require.Greater(t, len(logFiles(t, x.path("traces.jsonl"))), 20)
}
