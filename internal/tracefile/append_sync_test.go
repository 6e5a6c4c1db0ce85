package tracefile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func syncOptions(t *testing.T, fs *faultFS, seen *counts) (opts Options, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "traces.jsonl")
	opts = testOptions(path)
	opts.Durability, opts.fs, opts.Observer = DurabilitySync, fs, seen
	return opts, path
}

// With 16 clients an fsync takes along what was written while the last one ran: at the latest the
// second one after a line's write acknowledges it, so that 16 clients share them.
func TestGroupCommit(t *testing.T) {
	fs := &faultFS{}
	opts, _ := syncOptions(t, fs, &counts{})
	a := mustOpen(t, opts)
	fs.set(func(fs *faultFS) {
		fs.syncs = 0
		fs.sync = func(*os.File) error { time.Sleep(5 * time.Millisecond); return nil }
	})
	const clients, each = 16, 20
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for i := range each {
				assert.NoError(t, put(t.Context(), a, fmt.Appendf(nil, "%d-%d\n", c, i)))
			}
		})
	}
	all.Wait()
	fs.set(func(fs *faultFS) {
		assert.GreaterOrEqual(t, fs.syncs, each, "no client can be acknowledged twice by one fsync")
		assert.LessOrEqual(t, fs.syncs, clients*each/4, "fsyncs for %d requests", clients*each)
		t.Logf("%d fsyncs for %d requests", fs.syncs, clients*each)
	})
}

func TestSyncBeforeAcknowledgement(t *testing.T) {
	fs := &faultFS{}
	opts, _ := syncOptions(t, fs, &counts{})
	a := mustOpen(t, opts)
	synced := make(chan struct{})
	fs.set(func(fs *faultFS) { fs.sync = func(*os.File) error { <-synced; return nil } })
	acknowledged := make(chan error)
	go func() { acknowledged <- put(t.Context(), a, []byte("line\n")) }()
	select {
	case err := <-acknowledged:
		t.Fatalf("acknowledged before it was synced: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	close(synced)
	require.NoError(t, <-acknowledged)
}

func TestFailedSync(t *testing.T) {
	fs, seen := &faultFS{}, &counts{}
	opts, path := syncOptions(t, fs, seen)
	a := mustOpen(t, opts)
	require.NoError(t, put(t.Context(), a, []byte("before\n")))

	fs.set(func(fs *faultFS) { fs.sync = func(*os.File) error { return syscall.EIO } })
	err := put(t.Context(), a, []byte("line\n"))
	require.ErrorIs(t, err, ErrInDoubt)
	assert.Equal(t, ReasonInDoubt, Reason(err))
	require.Error(t, put(t.Context(), a, []byte("line\n")), "nor is its retry acknowledged while syncing fails")

	fs.set(func(fs *faultFS) { fs.sync = nil })
	soon(t, func() bool { return put(t.Context(), a, []byte("line\n")) == nil }, "repaired")
	assert.Equal(t, "before\nline\n", content(t, path), "it was there: its retry is no second line")
	assert.Equal(t, 1, seen.duplicates)
}

// After a failed fsync the disk may have nothing of what the kernel took for written.
func TestFailedSyncLosesLines(t *testing.T) {
	for _, durability := range []Durability{DurabilityWrite, DurabilitySync} {
		t.Run(string(durability), func(t *testing.T) {
			fs, seen := &faultFS{}, &counts{}
			opts, path := syncOptions(t, fs, seen)
			opts.Durability = durability
			a := mustOpen(t, opts)
			require.NoError(t, put(t.Context(), a, []byte("before\n")))
			soon(t, func() bool { a.mu.Lock(); defer a.mu.Unlock(); return len(a.unsynced) == 0 }, "synced")

			var once sync.Once
			fs.set(func(fs *faultFS) {
				fs.sync = func(*os.File) (err error) {
					once.Do(func() {
						err = syscall.EIO
						assert.NoError(t, spoil(path, int64(len("before\n")+1)))
					})
					return err
				}
			})
			err := put(t.Context(), a, []byte("line\n"))
			if durability == DurabilitySync {
				require.ErrorIs(t, err, ErrInDoubt)
				require.NoError(t, put(t.Context(), a, []byte("line\n")), "the retry is written")
				assert.Equal(t, "before\nline\n", content(t, path))
				assert.Zero(t, seen.lost, "what was not acknowledged is not lost")
			} else {
				require.NoError(t, err)
				soon(t, func() bool { return content(t, path) == "before\n" }, "taken out")
				require.NoError(t, put(t.Context(), a, []byte("line\n")))
				assert.Equal(t, "before\nline\n", content(t, path), "it can be written again")
				assert.Equal(t, 1, seen.lost)
			}
			assert.Equal(t, "l\x00\x00\x00\n\n", content(t, path+".torn"))
		})
	}
}

// spoil zeroes three bytes, as a disk does that lost a page.
func spoil(path string, at int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte{0, 0, 0}, at)
	return errors.Join(err, f.Close())
}

func TestHangingSync(t *testing.T) {
	fs, seen := &faultFS{}, &counts{}
	opts, path := syncOptions(t, fs, seen)
	opts.WriteTimeout = 200 * time.Millisecond
	a := mustOpen(t, opts)
	answer := make(chan struct{})
	fs.set(func(fs *faultFS) { fs.sync = func(*os.File) error { <-answer; return nil } })
	require.ErrorIs(t, put(t.Context(), a, []byte("hung\n")), ErrHanging)
	soon(t, func() bool { return a.hanging() != nil }, "hanging")
	begin := time.Now()
	require.ErrorIs(t, put(t.Context(), a, []byte("hung\n")), ErrHanging)
	assert.Less(t, time.Since(begin), opts.WriteTimeout, "at once")
	close(answer)
	soon(t, func() bool { return put(t.Context(), a, []byte("hung\n")) == nil }, "over")
	assert.Equal(t, "hung\n", content(t, path))
	assert.Equal(t, 1, seen.duplicates)
}

func TestBackgroundSync(t *testing.T) {
	for interval, want := range map[time.Duration]bool{10 * time.Millisecond: true, 0: false} {
		fs := &faultFS{}
		opts := testOptions(filepath.Join(t.TempDir(), "traces.jsonl"))
		opts.SyncInterval, opts.fs = interval, fs
		a := mustOpen(t, opts)
		count := func() (n int) { fs.set(func(fs *faultFS) { n = fs.syncs }); return n }
		opened := count()
		require.NoError(t, put(t.Context(), a, []byte("line\n")))
		if want {
			soon(t, func() bool { return count() == opened+1 }, "synced")
		}
		time.Sleep(50 * time.Millisecond)
		if want {
			assert.Equal(t, opened+1, count(), "nothing new, no fsync")
		} else {
			assert.Equal(t, opened, count(), "the kernel's business")
		}
		require.NoError(t, a.Close(t.Context()))
	}
}

func TestUnsyncedIsBounded(t *testing.T) {
	opts := testOptions(filepath.Join(t.TempDir(), "traces.jsonl"))
	a := mustOpen(t, opts)
	require.NoError(t, a.Close(t.Context()))
	for range maxUnsynced + 1000 {
		a.wrote(&flight{line: []byte("x\n"), done: make(chan struct{})})
	}
	assert.LessOrEqual(t, len(a.unsynced), maxUnsynced)
	assert.Equal(t, a.end, a.unsynced[len(a.unsynced)-1].end)
}
