package tracefile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// freeFS says how much is free: so much less than a volume of its size as the files in dir have.
type freeFS struct {
	faultFS
	dir  string
	size int64
	slow time.Duration // how long it takes to say so
	asks atomic.Int64
}

func (fs *freeFS) FreeBytes(string) (uint64, error) {
	fs.asks.Add(1)
	time.Sleep(fs.slow)
	var used int64
	err := filepath.Walk(fs.dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			used += info.Size()
		}
		return nil
	})
	return uint64(max(0, fs.size-used)), err
}

// old makes a file of 100 bytes whose last line is so old.
func old(t *testing.T, path string, age time.Duration) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	line := filepath.Base(path) + strings.Repeat("x", 100-len(filepath.Base(path))-1) + "\n"
	require.NoError(t, os.WriteFile(path, []byte(line), 0o600))
	at := time.Now().Add(-age)
	require.NoError(t, os.Chtimes(path, at, at))
}

func segment(path string, n int) string { return SegmentPath(path, pathTestTime, n) }

// there returns what is left of paths, by their index.
func there(paths []string) (left []int) {
	for i, path := range paths {
		if _, err := os.Lstat(path); err == nil {
			left = append(left, i)
		}
	}
	return left
}

// retentionOf returns Files that look often. What is left after a look is final.
func retentionOf(t *testing.T, path string, r Retention, change func(*FilesOptions)) (*Files, *counts) {
	t.Helper()
	seen := &counts{}
	opts := filesOptions(t, path)
	opts.Retention, opts.Observer = r, seen
	opts.minFreeEvery, opts.retainEvery = 5*time.Millisecond, 5*time.Millisecond
	if change != nil {
		change(&opts)
	}
	return mustOpenFiles(t, opts), seen
}

func (c *counts) deletions() (all []Deletion) {
	c.with(func() { all = slices.Clone(c.deleted) })
	return all
}

func (c *counts) deletionErrors() (all []error) {
	c.with(func() { all = slices.Clone(c.undeleted) })
	return all
}

func (c *counts) reasons() (all []string) {
	for _, d := range c.deletions() {
		all = append(all, d.Reason)
	}
	return all
}

func TestRetention_ByAge(t *testing.T) {
	dir := t.TempDir()
	run := func(name string) string { return filepath.Join(dir, name, "traces.jsonl") }
	files := []string{
		0: segment(run("a"), 1), 1: segment(run("a"), 2), 2: run("a"), // an active run
		3: segment(run("idle"), 1), 4: run("idle"), 5: run("idle") + ".torn",
		6: segment(run("pinned"), 1), 7: run("pinned"),
		8: filepath.Join(dir, "foreign", "other.jsonl"), 9: filepath.Join(dir, "Foreign", "traces.jsonl"), 10: run("b"),
	}
	for _, path := range files {
		old(t, path, 100*time.Hour)
	}
	old(t, files[1], time.Hour)
	old(t, files[2], 2*time.Minute)
	require.NoError(t, Pin(run("pinned")))
	_, seen := retentionOf(t, dir+"/{run.id}/traces.jsonl", Retention{MaxAge: 48 * time.Hour, RunIdle: time.Hour}, nil)
	soon(t, func() bool { return len(seen.reasons()) == 4 }, "0, 3, 4 and 10 are deleted")
	time.Sleep(50 * time.Millisecond)
	assert.Equal(t, []int{1, 2, 6, 7, 8, 9}, there(files))
	assert.NoDirExists(t, filepath.Dir(run("idle")), "an empty folder")
	assert.DirExists(t, filepath.Dir(run("a")))
	for _, d := range seen.deletions() {
		assert.Equal(t, DeletedForAge, d.Reason)
		assert.EqualValues(t, 100, d.Bytes)
		assert.InDelta(t, 100, d.Age.Hours(), 1)
		assert.Empty(t, d.Unread)
	}
	require.NoError(t, Unpin(run("pinned")))
	soon(t, func() bool { return len(there(files)) == 4 }, "not pinned anymore")
	assert.Empty(t, seen.deletionErrors())
}

// The live file of the only log stays, however old it is.
func TestRetention_OfOneFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "traces.jsonl")
	files := []string{segment(path, 1), path, path + ".torn", filepath.Join(dir, "other-20261201T090000Z-1.jsonl")}
	for _, file := range files {
		old(t, file, 100*time.Hour)
	}
	_, seen := retentionOf(t, path, Retention{MaxAge: time.Hour, MaxBytes: 1, RunIdle: time.Second}, nil)
	soon(t, func() bool { return len(seen.reasons()) == 1 }, "the segment is deleted")
	time.Sleep(50 * time.Millisecond)
	assert.Equal(t, []int{1, 2, 3}, there(files))
	require.Len(t, seen.deletionErrors(), 1, "told once")
	assert.ErrorContains(t, seen.deletionErrors()[0], "100 bytes in files, max_bytes is 1")
}

func TestRetention_ByBytes(t *testing.T) {
	dir := t.TempDir()
	run := func(name string) string { return filepath.Join(dir, name+".jsonl") }
	files := []string{0: segment(run("b"), 1), 1: run("a"), 2: segment(run("b"), 2), 3: run("c"), 4: run("b")}
	for i, path := range files {
		old(t, path, time.Duration(200-i)*time.Hour)
	}
	require.NoError(t, Pin(run("a")))
	_, seen := retentionOf(t, dir+"/{run.id}.jsonl", Retention{MaxBytes: 300}, nil)
	soon(t, func() bool { return len(seen.reasons()) == 2 }, "the oldest first, not the pinned one")
	time.Sleep(50 * time.Millisecond)
	assert.Equal(t, []int{1, 3, 4}, there(files))
	assert.Equal(t, []string{DeletedForBytes, DeletedForBytes}, seen.reasons())
}

func TestRetention_ByFreeSpace(t *testing.T) {
	dir := t.TempDir()
	run := func(i int) string { return filepath.Join(dir, fmt.Sprintf("%d.jsonl", i)) }
	var files []string
	for i := range 10 {
		files = append(files, run(i))
		old(t, run(i), time.Duration(200-i)*time.Hour)
	}
	fs := &freeFS{dir: dir, size: 1000}
	_, seen := retentionOf(t, dir+"/{run.id}.jsonl", Retention{MinFree: 350}, func(opts *FilesOptions) {
		opts.fs = fs
		opts.NoLock = true // which takes space
	})
	soon(t, func() bool { return len(seen.reasons()) == 4 }, "as many as it takes")
	time.Sleep(50 * time.Millisecond)
	assert.Equal(t, []int{4, 5, 6, 7, 8, 9}, there(files))
	assert.Empty(t, seen.deletionErrors())
}

// However long a look takes: while too little is free the next one comes with the next second.
func TestRetention_FreeSpaceHasNoBudget(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	fs := &freeFS{dir: dir, size: 1000, slow: 50 * time.Millisecond}
	_, seen := retentionOf(t, dir+"/{run.id}.jsonl", Retention{MinFree: 500}, func(opts *FilesOptions) {
		opts.fs, opts.NoLock, opts.retainEvery = fs, true, time.Hour
	})
	for round := range 3 {
		for i := range 8 {
			made := filepath.Join(elsewhere, fmt.Sprintf("%d-%d.jsonl", round, i))
			old(t, made, 100*time.Hour)
			require.NoError(t, os.Rename(made, filepath.Join(dir, filepath.Base(made)))) // never seen as a new one
		}
		soon(t, func() bool { // a fiftieth of a core would be a look every 10 s
			free, err := fs.FreeBytes(dir)
			return err == nil && free >= 500
		}, "there is room again")
	}
	assert.Empty(t, seen.deletionErrors())
}

// A write that finds no space does not wait for the next look.
func TestRetention_WhenThereIsNoSpace(t *testing.T) {
	dir := t.TempDir()
	fs := &freeFS{dir: dir, size: 1000}
	f, seen := retentionOf(t, dir+"/{run.id}.jsonl", Retention{MinFree: 500}, func(opts *FilesOptions) {
		opts.fs, opts.NoLock, opts.minFreeEvery = fs, true, time.Hour
	})
	for i := range 9 {
		old(t, filepath.Join(dir, run(i)+".jsonl"), 100*time.Hour)
	}
	fs.set(func(fs *faultFS) { fs.write = func(*os.File, []byte) (int, error) { return 0, syscall.ENOSPC } })
	require.ErrorIs(t, putRun(t.Context(), f, "new", "line"), syscall.ENOSPC)
	soon(t, func() bool { return len(seen.reasons()) == 4 }, "half of it is deleted")
}

// Where nothing may be deleted, that is looked at again as soon as something may.
func TestRetention_WhenSomethingMayBeDeleted(t *testing.T) {
	const idle = 300 * time.Millisecond
	dir := t.TempDir()
	fs := &freeFS{dir: dir, size: 1000}
	f, seen := retentionOf(t, dir+"/{run.id}.jsonl", Retention{MinFree: 999, RunIdle: time.Hour}, func(opts *FilesOptions) {
		opts.fs, opts.NoLock, opts.retainEvery, opts.Rotation.MaxBytes = fs, true, time.Hour, 10
	})
	require.NoError(t, putRun(t.Context(), f, "a", "line 1"))
	soon(t, func() bool { return len(seen.deletionErrors()) == 1 }, "nothing to delete")
	require.NoError(t, putRun(t.Context(), f, "a", "line 2"))
	soon(t, func() bool { return len(seen.reasons()) == 1 }, "a segment")

	dir = t.TempDir()
	fs = &freeFS{dir: dir, size: 1000}
	f, seen = retentionOf(t, dir+"/{run.id}.jsonl", Retention{MinFree: 999, RunIdle: idle}, func(opts *FilesOptions) {
		opts.fs, opts.NoLock, opts.retainEvery, opts.idleClose = fs, true, time.Hour, idle/2
	})
	require.NoError(t, putRun(t.Context(), f, "a", "line"))
	soon(t, func() bool { return len(seen.deletionErrors()) > 0 }, "nothing to delete")
	soon(t, func() bool { return len(seen.reasons()) == 1 }, "an idle run")
}

// A run that is written to is not deleted, and one that is being deleted can be written to anew.
func TestRetention_RunsThatComeBack(t *testing.T) {
	dir := t.TempDir()
	f, seen := retentionOf(t, dir+"/{service.name}/{run.id}.jsonl", Retention{MaxAge: time.Millisecond, RunIdle: 20 * time.Millisecond},
		func(opts *FilesOptions) { opts.idleClose = time.Millisecond })
	file, err := f.acquire(t.Context(), filepath.Join(dir, "s", "open.jsonl"))
	require.NoError(t, err)
	deadline := time.Now().Add(2 * time.Second)
	n := 0
	for ; time.Now().Before(deadline); n++ {
		_, err := f.Append(t.Context(), PathValues{Service: "s", Run: "a"}, fmt.Appendf(nil, "line %d\n", n))
		require.NoError(t, err)
		_, err = f.Append(t.Context(), PathValues{Service: "t", Run: "a"}, fmt.Appendf(nil, "line %d\n", n))
		require.NoError(t, err)
		if n%20 == 0 {
			time.Sleep(100 * time.Millisecond)
		}
	}
	assert.FileExists(t, file.path, "it is open")
	f.release(file)
	require.NoError(t, f.Close(t.Context()))
	t.Logf("%d times deleted, %d lines", len(seen.reasons()), n)
	require.Zero(t, seen.lost)
}

// What readers had not read is counted for each: those of this process, and those of others by their
// places.
func TestRetention_CountsWhatReadersHadNotRead(t *testing.T) {
	x := newTailFixture(t, nil)
	path := x.path("traces.jsonl")
	first, second := segment(path, 1), segment(path, 2)
	x.write(t, filepath.Base(first), "1\n2\n3\n")
	assert.Equal(t, "1\n2\n3\n", x.deliver(t))
	x.Save()
	x.write(t, filepath.Base(second), "4\n5\n6\n")
	b := x.batch(t)
	require.Equal(t, "4\n5\n6\n", string(b.Data))
	x.write(t, filepath.Base(path), "7\n")

	unread := func(path string, places ...string) map[string]int64 {
		readers := placeReaders{folders: places}
		info, err := os.Stat(path)
		require.NoError(t, err)
		return readers.unread(path, info.Size())
	}
	reader := x.set.Name
	assert.Empty(t, unread(first))
	assert.Equal(t, map[string]int64{reader: 6}, unread(second), "handed out is not delivered")
	b.Delivered()
	assert.Empty(t, unread(second))
	other := x.path("other.jsonl")
	x.write(t, "other.jsonl", "1\n2\n")
	assert.Empty(t, unread(other), "it does not read that file")

	// Another process: it has its places only.
	elsewhere := tailPlaces{dir: t.TempDir(), reader: "run_file/other"}
	require.NoError(t, elsewhere.save(fingerprintOf(t, second), second, 2))
	require.NoError(t, os.WriteFile(filepath.Join(elsewhere.dir, "damaged.place"), []byte("{"), 0o600))
	assert.Equal(t, map[string]int64{"run_file/other": 6}, unread(first, elsewhere.dir))
	assert.Equal(t, map[string]int64{"run_file/other": 4}, unread(second, elsewhere.dir, "/is/missing"))
	assert.Empty(t, unread(second, x.set.Places), "a reader of this process is not counted by its places too")

	// And a deletion says so.
	_, seen := retentionOf(t, path, Retention{MaxBytes: 8, Places: []string{elsewhere.dir}}, func(opts *FilesOptions) { opts.NoLock = true })
	soon(t, func() bool { return len(seen.reasons()) == 1 }, "the first is deleted")
	assert.Equal(t, map[string]int64{"run_file/other": 6}, seen.deletions()[0].Unread)
}

// A reader that follows under rotation and retention gets every line at most once, and each that it
// did not get is counted, by it or by the writer.
func TestRetention_ReaderUnderDeletion(t *testing.T) {
	x := newTailFixture(t, func(set *TailSettings) { set.MaxBatchBytes = 256 })
	path := x.path("traces.jsonl")
	f, seen := retentionOf(t, path, Retention{MaxBytes: 4000}, func(opts *FilesOptions) {
		opts.RetryLines, opts.Rotation.MaxBytes = 0, 1000
	})
	const lines = 4000
	written := make(chan error, 1)
	go func() {
		for i := range lines {
			if _, err := f.Append(t.Context(), PathValues{}, fmt.Appendf(nil, "line %06d\n", i)); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	got := map[string]int{}
	for running, rest := true, "rest"; running || rest != ""; {
		select {
		case err := <-written:
			require.NoError(t, err)
			require.NoError(t, f.Close(t.Context()))
			running = false
		default:
		}
		rest = x.deliver(t)
		for line := range strings.Lines(rest) {
			got[line]++
		}
	}
	for line, n := range got {
		require.Equal(t, 1, n, line)
	}
	var unread int64
	for _, d := range seen.deletions() {
		unread += d.Unread[x.set.Name]
	}
	const lineBytes = int64(len("line 000000\n"))
	t.Logf("%d segments deleted; of %d lines the reader got %d, %d bytes are counted as unread", len(seen.deletions()), lines, len(got), unread)
	assert.NotEmpty(t, seen.deletions())
	// It may have read a batch of a file just when that was deleted.
	assert.LessOrEqual(t, (lines-int64(len(got)))*lineBytes, unread)
	assert.LessOrEqual(t, unread, (lines-int64(len(got)))*lineBytes+int64(len(seen.deletions()))*256)
}
