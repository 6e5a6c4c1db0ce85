package tracefile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// syncs returns how many fsyncs and syncs of the volume there were.
func (fs *faultFS) syncCounts() (each, volume int) {
	fs.set(func(fs *faultFS) { each, volume = fs.syncs, fs.volumeSyncs })
	return each, volume
}

// isClean reports whether all that was written is known to be on the disk.
func (f *Files) isClean() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, file := range f.files {
		if file.app == nil {
			return false
		}
		if _, dirty := file.app.mark(); dirty {
			return false
		}
	}
	return len(f.unsynced) == 0 && f.unsyncedLines == 0
}

// syncedByHand returns Files that sync only when the test does.
func syncedByHand(t *testing.T, maxOpen int, seen *counts) (*Files, *faultFS, string) {
	t.Helper()
	dir := t.TempDir()
	faults := &faultFS{}
	opts := filesOptions(t, dir+"/{run.id}.jsonl")
	opts.MaxOpen, opts.SyncInterval, opts.fs, opts.Observer = maxOpen, time.Hour, faults, seen
	return mustOpenFiles(t, opts), faults, dir
}

// Many files are synced by one sync of their volume, those that were closed since too.
func TestFilesSync_ManyTogether(t *testing.T) {
	f, faults, _ := syncedByHand(t, 8, &counts{})
	for round := range 2 {
		for i := range 100 {
			require.NoError(t, putRun(t.Context(), f, run(i), fmt.Sprint("line ", round)))
		}
	}
	assert.False(t, f.isClean())
	require.NoError(t, f.syncAll())
	assert.True(t, f.isClean())
	each, volume := faults.syncCounts()
	assert.Equal(t, []int{0, 1}, []int{each, volume})
	require.NoError(t, f.syncAll())
	_, volume = faults.syncCounts()
	assert.Equal(t, 1, volume, "there was nothing to sync")
}

// Few files have an fsync each: the volume may be full of what others write.
func TestFilesSync_FewEach(t *testing.T) {
	f, faults, _ := syncedByHand(t, 8, &counts{})
	for i := range 12 {
		require.NoError(t, putRun(t.Context(), f, run(i), "line"))
	}
	require.NoError(t, f.syncAll())
	soon(t, f.isClean, "synced")
	each, volume := faults.syncCounts()
	assert.Equal(t, []int{12, 0}, []int{each, volume})
}

// What is written during a sync is not taken for synced.
func TestFilesSync_WrittenMeanwhile(t *testing.T) {
	f, faults, _ := syncedByHand(t, 100, &counts{})
	for i := range 50 {
		require.NoError(t, putRun(t.Context(), f, run(i), "line"))
	}
	faults.set(func(fs *faultFS) {
		fs.volume = func() error { return putRun(t.Context(), f, run(7), "meanwhile") }
	})
	require.NoError(t, f.syncAll())
	assert.False(t, f.isClean())
	require.NoError(t, f.syncAll())
	assert.True(t, f.isClean())
}

// The shutdown syncs what is left, with one sync for many.
func TestFilesSync_AtTheEnd(t *testing.T) {
	f, faults, _ := syncedByHand(t, 100, &counts{})
	for i := range 50 {
		require.NoError(t, putRun(t.Context(), f, run(i), "line"))
	}
	require.NoError(t, f.Close(t.Context()))
	each, volume := faults.syncCounts()
	assert.Equal(t, []int{0, 1}, []int{each, volume})
	assert.True(t, f.isClean())
}

// A sync that fails: each file tells whether it is in doubt, and those are verified and written again,
// open or closed.
func TestFilesSync_Fails(t *testing.T) {
	seen := &counts{}
	f, faults, dir := syncedByHand(t, 8, seen)
	for i := range 100 {
		require.NoError(t, putRun(t.Context(), f, run(i), "line"))
	}
	faults.set(func(fs *faultFS) {
		fs.volume = func() error { return syscall.EIO }
		fs.sync = func(file *os.File) error {
			if strings.HasSuffix(file.Name(), run(3)+".jsonl") || strings.HasSuffix(file.Name(), run(99)+".jsonl") {
				return syscall.EIO
			}
			return nil
		}
	})
	require.ErrorIs(t, f.syncAll(), syscall.EIO)
	require.ErrorIs(t, f.syncAll(), syscall.EIO)
	faults.set(func(fs *faultFS) { fs.volume, fs.sync = nil, nil })
	// The disk has lost the line of the closed one.
	require.NoError(t, os.Truncate(filepath.Join(dir, run(3)+".jsonl"), 0))
	require.NoError(t, putRun(t.Context(), f, run(3), "line"), "it is written again, for it is known to be lost")
	// Where the writer's own check (every 500 ms) tried to repair it while the disk still failed, it refuses
	// for 200 ms with what that said, and with nothing else.
	soon(t, func() bool {
		err := putRun(t.Context(), f, run(99), "another line")
		if err != nil {
			require.ErrorIs(t, err, syscall.EIO)
		}
		return err == nil
	}, "it takes lines again")
	assert.Equal(t, "line\n", content(t, filepath.Join(dir, run(3)+".jsonl")))
	assert.Equal(t, "line\nanother line\n", content(t, filepath.Join(dir, run(99)+".jsonl")))
	assert.Equal(t, 1, seen.lost)
	assert.Zero(t, seen.duplicates)
	require.NoError(t, f.syncAll())
	soon(t, f.isClean, "all others are on the disk")
}

// What is in doubt is verified also where nothing more is written to it; a later fsync proves nothing.
func TestFilesSync_DoubtEnds(t *testing.T) {
	seen := &counts{}
	f, faults, dir := syncedByHand(t, 1, seen)
	require.NoError(t, putRun(t.Context(), f, run(0), "line"))
	require.NoError(t, putRun(t.Context(), f, run(1), "line"))
	path := filepath.Join(dir, run(0)+".jsonl")
	faults.set(func(fs *faultFS) {
		fs.sync = func(file *os.File) error {
			if file.Name() == path {
				return syscall.EIO
			}
			return nil
		}
	})
	require.ErrorIs(t, f.syncAll(), syscall.EIO)
	assert.False(t, f.isClean())
	faults.set(func(fs *faultFS) { fs.sync = nil })
	require.NoError(t, os.WriteFile(path, []byte("\x00\x00\x00\x00\n"), 0o600))
	require.NoError(t, f.syncAll())
	assert.Equal(t, 1, seen.lost, "it was looked at")
	require.NoError(t, putRun(t.Context(), f, run(0), "line"))
	assert.Equal(t, "line\n", content(t, path))
}

// A file that is closed while it is in doubt is verified later.
func TestFilesSync_ClosedInDoubt(t *testing.T) {
	seen := &counts{}
	f, faults, dir := syncedByHand(t, 1, seen)
	require.NoError(t, putRun(t.Context(), f, run(0), "line"))
	path := filepath.Join(dir, run(0)+".jsonl")
	faults.set(func(fs *faultFS) {
		fs.sync = func(*os.File) error { return syscall.EIO }
		fs.open = func(name string) error {
			if name == path {
				return syscall.EIO
			}
			return nil
		}
	})
	require.ErrorIs(t, f.syncAll(), syscall.EIO)
	require.NoError(t, putRun(t.Context(), f, run(1), "line"))
	soon(t, func() bool { f.mu.Lock(); defer f.mu.Unlock(); return f.unsynced[path].doubt }, "closed")
	require.ErrorIs(t, f.syncAll(), ErrInDoubt)
	faults.set(func(fs *faultFS) { fs.sync, fs.open = nil, nil })
	require.NoError(t, os.Truncate(path, 0))
	require.NoError(t, f.syncAll())
	assert.Equal(t, 1, seen.lost)
	soon(t, func() bool { return f.syncAll() == nil && f.isClean() }, "all is on the disk")
}

// A disk that hangs does not fill the memory with what is to be synced.
func TestFilesSync_BoundedMemory(t *testing.T) {
	f, _, _ := syncedByHand(t, 8, &counts{})
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range 100 {
		f.keepUnsynced(run(i), unsyncedFile{lines: make([]writtenLine, maxUnsynced/10)})
		assert.LessOrEqual(t, f.unsyncedLines, 2*maxUnsynced)
	}
	clear(f.unsynced)
}

// A sync that has begun comes to a file that was closed meanwhile: there is nothing wrong with it, and what
// it has not on the disk is there after the next sync.
func TestFilesSync_ClosedMeanwhile(t *testing.T) {
	seen := &counts{}
	f, faults, dir := syncedByHand(t, 8, seen)
	require.NoError(t, putRun(t.Context(), f, run(0), "line"))
	f.mu.Lock()
	file := f.files[filepath.Join(dir, run(0)+".jsonl")]
	mark, dirty := file.app.mark()
	f.startClosing(file)
	f.mu.Unlock()
	require.True(t, dirty)
	<-file.gone
	require.NoError(t, f.syncEach(nil, []syncMark{mark}))
	assert.Empty(t, seen.health, "no message of a file that cannot be written")
	assert.False(t, f.isClean(), "not synced, and not taken for synced")
	require.NoError(t, f.syncAll())
	assert.True(t, f.isClean())
	each, _ := faults.syncCounts()
	assert.Equal(t, 1, each)
}

// Files are closed, opened again and rotated while others are synced, one by one or together.
func TestFilesSync_WhileFilesComeAndGo(t *testing.T) {
	dir := t.TempDir()
	seen := &counts{}
	opts := filesOptions(t, dir+"/{run.id}/traces.jsonl")
	opts.MaxOpen, opts.SyncInterval, opts.Observer = 16, time.Millisecond, seen
	opts.Rotation.MaxBytes = 256
	f := mustOpenFiles(t, opts)
	var all sync.WaitGroup
	for client := range 4 {
		all.Go(func() {
			for i := range 1000 {
				if err := putRun(t.Context(), f, run(i%100), fmt.Sprintf("line %d of %d", i, client)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	require.NoError(t, f.Close(t.Context()))
	assert.True(t, f.isClean())
	assert.Zero(t, seen.lost)
	assert.Empty(t, seen.health)
	assert.NotEmpty(t, seen.rotated)
	for i := range 100 {
		files, err := filepath.Glob(filepath.Join(dir, run(i), "*.jsonl"))
		require.NoError(t, err)
		lines := 0
		for _, file := range files {
			lines += strings.Count(content(t, file), "\n")
		}
		assert.Equal(t, 40, lines)
	}
}
