package tracefile

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func filesOptions(t *testing.T, path string) FilesOptions {
	t.Helper()
	opts := testOptions("")
	opts.CreateDirectory = true
	return FilesOptions{Options: opts, Template: template(t, path)}
}

func mustOpenFiles(t *testing.T, opts FilesOptions) *Files {
	t.Helper()
	f, err := OpenFiles(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close(context.WithoutCancel(t.Context())) })
	return f
}

func putRun(ctx context.Context, f *Files, run, line string) error {
	_, err := f.Append(ctx, PathValues{Run: run}, []byte(line+"\n"))
	return err
}

func run(i int) string { return fmt.Sprintf("run-%d", i) }

func TestFiles_OneFileARun(t *testing.T) {
	dir := t.TempDir()
	f := mustOpenFiles(t, filesOptions(t, dir+"/{run.id}/traces.jsonl"))
	assert.FileExists(t, filepath.Join(dir, ".runspan.lock"))
	for _, name := range []string{"a", "B", "b", "../x", "."} {
		require.NoError(t, putRun(t.Context(), f, name, "of "+name))
		assert.Equal(t, "of "+name+"\n", content(t, f.template.Expand(PathValues{Run: name})))
	}
	assert.Equal(t, 5, f.OpenCount())
	require.NoError(t, f.Close(t.Context()))
	assert.Zero(t, f.OpenCount())
	require.ErrorIs(t, putRun(t.Context(), f, "a", "late"), ErrClosed)
}

func TestFiles_WithoutPlaceholders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	f := mustOpenFiles(t, filesOptions(t, path))
	assert.FileExists(t, path, "from the start")
	assert.FileExists(t, path+".lock")
	require.NoError(t, putRun(t.Context(), f, "a", "one"))
	require.NoError(t, putRun(t.Context(), f, "b", "two"))
	assert.Equal(t, "one\ntwo\n", content(t, path))
	assert.Equal(t, 1, f.OpenCount())
}

// 10,000 runs through 64 open files from many clients that send some of it twice: every line once.
func TestFiles_TenThousandRuns(t *testing.T) {
	const runs, clients, linesARun = 10_000, 16, 3
	dir := t.TempDir()
	opts := filesOptions(t, dir+"/{run.id}.jsonl")
	opts.MaxOpen = 64
	opts.SyncInterval = time.Second
	opts.RetryLines = runs * linesARun
	f := mustOpenFiles(t, opts)

	var most atomic.Int64
	var all sync.WaitGroup
	work := make(chan int, 100)
	for range clients {
		all.Go(func() {
			for i := range work {
				for range 1 + rand.IntN(10)/9 { // one in ten again
					if err := putRun(t.Context(), f, run(i%runs), fmt.Sprintf("line %d", i)); err != nil {
						t.Error(err)
					}
				}
				most.Store(max(most.Load(), int64(f.OpenCount())))
			}
		})
	}
	for _, i := range rand.Perm(runs * linesARun) {
		work <- i
	}
	close(work)
	all.Wait()
	require.NoError(t, f.Close(t.Context()))
	assert.LessOrEqual(t, most.Load(), int64(64))
	assert.Greater(t, most.Load(), int64(32))
	for i := range runs {
		seen := map[string]bool{}
		for line := range strings.Lines(content(t, filepath.Join(dir, run(i)+".jsonl"))) {
			require.False(t, seen[line], "twice: %s", line)
			seen[line] = true
		}
		require.Len(t, seen, linesARun)
		for n := range linesARun {
			require.True(t, seen[fmt.Sprintf("line %d\n", i+n*runs)])
		}
	}
}

// What is sent again after its file was closed is known: the window is one for all files.
func TestFiles_RetryAfterClosing(t *testing.T) {
	dir := t.TempDir()
	var seen counts
	opts := filesOptions(t, dir+"/{run.id}.jsonl")
	opts.MaxOpen, opts.Observer = 2, &seen
	f := mustOpenFiles(t, opts)
	for range 2 {
		for i := range 20 {
			require.NoError(t, putRun(t.Context(), f, run(i), "line of "+run(i)))
		}
	}
	assert.Equal(t, 20, seen.duplicates)
	assert.Equal(t, 20, seen.lines)
}

// A file that is opened again needs no repair, and no fsync, unless it was changed meanwhile.
func TestFiles_OpenedAgain(t *testing.T) {
	dir := t.TempDir()
	var seen counts
	faults := &faultFS{}
	opts := filesOptions(t, dir+"/{run.id}.jsonl")
	opts.MaxOpen, opts.SyncInterval, opts.fs, opts.Observer = 1, 0, faults, &seen
	f := mustOpenFiles(t, opts)
	for n := range 3 {
		for i := range 3 {
			require.NoError(t, putRun(t.Context(), f, run(i), fmt.Sprint("line ", n)))
		}
	}
	faults.set(func(fs *faultFS) { assert.Zero(t, fs.syncs) })
	path := filepath.Join(dir, run(1)+".jsonl")
	soon(t, func() bool { f.mu.Lock(); defer f.mu.Unlock(); return f.files[path] == nil }, "closed")
	require.NoError(t, os.WriteFile(path, []byte("line 0\nline 1\nline 2\ntorn"), 0o600))
	require.NoError(t, putRun(t.Context(), f, run(1), "line 3"))
	assert.Equal(t, "line 0\nline 1\nline 2\nline 3\n", content(t, path))
	assert.EqualValues(t, len("torn"), seen.moved)
}

// A run that cannot be written does not keep the others waiting.
func TestFiles_OneRunFails(t *testing.T) {
	dir := t.TempDir()
	var seen counts
	opts := filesOptions(t, dir+"/{run.id}.jsonl")
	opts.MaxOpen, opts.Observer = 4, &seen
	f := mustOpenFiles(t, opts)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bad.jsonl"), 0o700))
	for i := range 10 {
		require.ErrorIs(t, putRun(t.Context(), f, "bad", "line"), syscall.EISDIR)
		require.NoError(t, putRun(t.Context(), f, run(i), "line"))
	}
	require.Len(t, seen.health, 1, "told once")
	require.NoError(t, os.Remove(filepath.Join(dir, "bad.jsonl")))
	require.NoError(t, putRun(t.Context(), f, "bad", "line"))
	require.Len(t, seen.health, 2)
	assert.NoError(t, seen.health[1])
}

// A disk that hangs for one run only takes its slot.
func TestFiles_OneRunHangs(t *testing.T) {
	dir := t.TempDir()
	answer := make(chan struct{})
	faults := &faultFS{write: func(f *os.File, line []byte) (int, error) {
		if strings.HasSuffix(f.Name(), "bad.jsonl") {
			<-answer
		}
		return f.Write(line)
	}}
	opts := filesOptions(t, dir+"/{run.id}.jsonl")
	opts.MaxOpen, opts.WriteTimeout, opts.fs = 2, time.Second, faults
	f := mustOpenFiles(t, opts)
	require.ErrorIs(t, putRun(t.Context(), f, "bad", "line"), ErrHanging)
	for i := range 10 {
		require.NoError(t, putRun(t.Context(), f, run(i), "line"))
	}
	require.ErrorIs(t, putRun(t.Context(), f, "bad", "line"), ErrHanging)
	close(answer)
	soon(t, func() bool { return putRun(t.Context(), f, "bad", "line") == nil }, "it answers")
	assert.Equal(t, "line\n", content(t, filepath.Join(dir, "bad.jsonl")), "once")
}

// All slots hang: others are told so in time, and Close does not wait for ever.
func TestFiles_AllHang(t *testing.T) {
	dir := t.TempDir()
	answer := make(chan struct{})
	faults := &faultFS{write: func(f *os.File, line []byte) (int, error) { <-answer; return f.Write(line) }}
	opts := filesOptions(t, dir+"/{run.id}.jsonl")
	opts.MaxOpen, opts.WriteTimeout, opts.fs = 2, 200*time.Millisecond, faults
	f := mustOpenFiles(t, opts)
	for i := range 4 {
		require.ErrorIs(t, putRun(t.Context(), f, run(i), "line"), ErrHanging)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	require.ErrorIs(t, putRun(ctx, f, "another", "line"), context.DeadlineExceeded)
	cancel()
	require.ErrorIs(t, f.Close(t.Context()), ErrHanging)
	close(answer)
	soon(t, func() bool { return f.OpenCount() == 0 }, "closed in the end")
}

// Who removes a run wants it removed: it comes back with its next span only.
func TestFiles_RunIsRemoved(t *testing.T) {
	dir := t.TempDir()
	f := mustOpenFiles(t, filesOptions(t, dir+"/{run.id}/traces.jsonl"))
	require.NoError(t, putRun(t.Context(), f, "a", "one"))
	path := filepath.Join(dir, "a", "traces.jsonl")
	file, err := f.acquire(t.Context(), path)
	require.NoError(t, err)
	f.release(file)
	time.Sleep(2 * checkEvery) // the writer has seen that the line is there
	require.NoError(t, os.RemoveAll(filepath.Dir(path)))
	time.Sleep(3 * checkEvery)
	assert.NoDirExists(t, filepath.Dir(path))
	require.NoError(t, putRun(t.Context(), f, "a", "two"))
	assert.Equal(t, "two\n", content(t, path))

	// A line that was acknowledged after the file was gone, perhaps, comes back.
	require.NoError(t, os.RemoveAll(filepath.Dir(path)))
	require.NoError(t, putRun(t.Context(), f, "a", "three"))
	soon(t, func() bool {
		text, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(text), "three\n")
	}, "it is there again, with its line")
}

func TestFiles_IdleOnesAreClosed(t *testing.T) {
	dir := t.TempDir()
	opts := filesOptions(t, dir+"/{run.id}.jsonl")
	opts.idleClose = 50 * time.Millisecond
	f := mustOpenFiles(t, opts)
	require.NoError(t, putRun(t.Context(), f, "a", "one"))
	soon(t, func() bool { return f.OpenCount() == 0 }, "closed")
	require.NoError(t, putRun(t.Context(), f, "a", "two"))
	assert.Equal(t, "one\ntwo\n", content(t, filepath.Join(dir, "a.jsonl")))
}

func TestFiles_OneWriterAFolder(t *testing.T) {
	dir := t.TempDir()
	opts := filesOptions(t, dir+"/{run.id}.jsonl")
	opts.LockTimeout = 50 * time.Millisecond
	f := mustOpenFiles(t, opts)
	other := opts
	other.Template = template(t, dir+"/{service.name}/{run.id}.jsonl")
	_, err := OpenFiles(t.Context(), other)
	require.ErrorIs(t, err, ErrLocked)
	require.ErrorContains(t, err, dir)

	// A file of its own that is one of the runs' too.
	alone := testOptions(filepath.Join(dir, "shared.jsonl"))
	a := mustOpen(t, alone)
	require.NoError(t, put(t.Context(), a, []byte("one\n")))
	require.ErrorIs(t, putRun(t.Context(), f, "shared", "two"), ErrLocked)

	// Another process.
	require.NoError(t, f.Close(t.Context()))
	lock, err := tryLock(filepath.Join(dir, runsLockName), flockExclusive)
	require.NoError(t, err)
	_, err = OpenFiles(t.Context(), opts)
	require.ErrorIs(t, err, ErrLocked)
	lock.release()
	mustOpenFiles(t, opts)
}

// Another collector has the file of a run as its only file: this one does not write it, whoever was first,
// and does when that one is gone.
func TestFiles_WriterOfOneFile(t *testing.T) {
	dir := t.TempDir()
	var seen counts
	opts := filesOptions(t, dir+"/{run.id}/traces.jsonl")
	opts.Observer = &seen
	f := mustOpenFiles(t, opts)
	for _, name := range []string{"open", "new"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o700))
		if name == "open" {
			require.NoError(t, putRun(t.Context(), f, name, "one"))
		}
		lock, err := tryLock(lockPath(filepath.Join(dir, name, "traces.jsonl")), flockExclusive)
		require.NoError(t, err)
		if name == "open" {
			soon(t, func() bool { return putRun(t.Context(), f, name, fmt.Sprint(time.Now())) != nil }, "noticed")
		}
		require.ErrorIs(t, putRun(t.Context(), f, name, "two"), ErrLocked)
		require.ErrorContains(t, putRun(t.Context(), f, name, "two"), fmt.Sprintf("process %d", os.Getpid()))
		require.NoError(t, putRun(t.Context(), f, "another", "of "+name))
		lock.release()
		soon(t, func() bool { return putRun(t.Context(), f, name, "two") == nil }, "free again")
	}
	seen.with(func() {
		require.GreaterOrEqual(t, len(seen.health), 2)
		require.ErrorIs(t, seen.health[0], ErrLocked)
		require.NoError(t, seen.health[len(seen.health)-1])
	})
}

// The folder of all runs is removed: nothing is written while another writer may have it.
func TestFiles_LockIsRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	name := filepath.Join(dir, runsLockName)
	var seen counts
	opts := filesOptions(t, dir+"/{run.id}.jsonl")
	opts.Observer = &seen
	f := mustOpenFiles(t, opts)
	require.NoError(t, os.RemoveAll(dir))
	soon(t, func() bool { _, err := os.Stat(name); return err == nil }, "it is there again")
	require.NoError(t, putRun(t.Context(), f, "a", "one"))

	require.NoError(t, os.Remove(name))
	lock, err := tryLock(name, flockExclusive)
	require.NoError(t, err, "quicker than the check")
	soon(t, func() bool { return putRun(t.Context(), f, "a", fmt.Sprint(time.Now())) != nil }, "refused")
	require.ErrorIs(t, putRun(t.Context(), f, "b", "one"), ErrLocked)
	lock.release()
	soon(t, func() bool { return putRun(t.Context(), f, "a", "two") == nil }, "free again")
}

func TestFiles_FolderIsNotMade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	opts := filesOptions(t, dir+"/{run.id}/traces.jsonl")
	opts.CreateDirectory = false
	_, err := OpenFiles(t.Context(), opts)
	require.ErrorContains(t, err, "create_directory")
	require.NoError(t, os.Mkdir(dir, 0o700))
	f := mustOpenFiles(t, opts)
	require.NoError(t, putRun(t.Context(), f, "a", "one"), "the folders of runs always are")
}

// With durability sync an acknowledged line is on the disk, with the entries of its file and folders.
func TestFiles_FoldersAreSynced(t *testing.T) {
	dir := t.TempDir()
	var mu sync.Mutex
	var synced []string
	faults := &faultFS{syncDir: func(path string) error {
		mu.Lock()
		defer mu.Unlock()
		synced = append(synced, path)
		return nil
	}}
	opts := filesOptions(t, dir+"/{service.name}/{run.id}/traces.jsonl")
	opts.Durability, opts.fs = DurabilitySync, faults
	f := mustOpenFiles(t, opts)
	_, err := f.Append(t.Context(), PathValues{Run: "r", Service: "s"}, []byte("one\n"))
	require.NoError(t, err)
	mu.Lock()
	defer mu.Unlock()
	assert.ElementsMatch(t, []string{dir, dir + "/s", dir + "/s/r"}, synced)
}

// The spans of a reader never come back into the file that they were read from.
func TestFiles_Loop(t *testing.T) {
	dir := t.TempDir()
	f := mustOpenFiles(t, filesOptions(t, dir+"/{run.id}.jsonl"))
	ctx := WithTail(t.Context(), []string{dir + "/a.jsonl"})
	require.ErrorIs(t, putRun(ctx, f, "a", "line"), ErrLoop)
	require.NoError(t, putRun(ctx, f, "b", "line"))

	unregister := RegisterWriter("run_file/runs", dir+"/{run.id}/traces.jsonl")
	defer unregister()
	assert.True(t, WriterFeeds("run_file/runs", []string{dir + "/*/traces.jsonl"}))
	assert.False(t, WriterFeeds("run_file/runs", []string{dir + "/*.jsonl"}))
}
