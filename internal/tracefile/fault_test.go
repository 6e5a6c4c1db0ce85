package tracefile

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// faultFS is the real file system with faults in front of it. A hook that is nil does nothing.
type faultFS struct {
	osFileSystem

	mu sync.Mutex
	// write may write less than all of a line and say why.
	write       func(f *os.File, line []byte) (int, error)
	sync        func(f *os.File) error
	truncate    func(f *os.File, size int64) error
	open        func(name string) error
	rename      func() error
	syncDir     func(path string) error
	volume      func() error
	syncs       int
	volumeSyncs int
	writes      int
}

type faultFile struct {
	*os.File
	fs *faultFS
}

func (fs *faultFS) OpenFile(name string, flag int, perm os.FileMode) (file, error) {
	fs.mu.Lock()
	open := fs.open
	fs.mu.Unlock()
	if open != nil {
		if err := open(name); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &faultFile{File: f, fs: fs}, nil
}

func (fs *faultFS) Rename(from, to string) error {
	fs.mu.Lock()
	rename := fs.rename
	fs.mu.Unlock()
	if rename != nil {
		return rename()
	}
	return fs.osFileSystem.Rename(from, to)
}

func (fs *faultFS) SyncDir(path string) error {
	fs.mu.Lock()
	sync := fs.syncDir
	fs.mu.Unlock()
	if sync != nil {
		return sync(path)
	}
	return fs.osFileSystem.SyncDir(path)
}

func (fs *faultFS) SyncVolume(dir *os.File) error {
	fs.mu.Lock()
	fs.volumeSyncs++
	volume := fs.volume
	fs.mu.Unlock()
	if volume != nil {
		return volume()
	}
	return fs.osFileSystem.SyncVolume(dir)
}

func (f *faultFile) Write(line []byte) (int, error) {
	f.fs.mu.Lock()
	f.fs.writes++
	write := f.fs.write
	f.fs.mu.Unlock()
	if write != nil {
		return write(f.File, line)
	}
	return f.File.Write(line)
}

func (f *faultFile) Sync() error {
	f.fs.mu.Lock()
	f.fs.syncs++
	sync := f.fs.sync
	f.fs.mu.Unlock()
	if sync != nil {
		if err := sync(f.File); err != nil {
			return err
		}
	}
	return f.File.Sync()
}

func (f *faultFile) Truncate(size int64) error {
	f.fs.mu.Lock()
	truncate := f.fs.truncate
	f.fs.mu.Unlock()
	if truncate != nil {
		if err := truncate(f.File, size); err != nil {
			return err
		}
	}
	return f.File.Truncate(size)
}

// set changes hooks while the writer runs.
func (fs *faultFS) set(change func(fs *faultFS)) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	change(fs)
}

// counts is an Observer that counts.
type counts struct {
	mu         sync.Mutex
	lines      int
	duplicates int
	moved      int64
	recreated  []string
	rotated    []string
	unrotated  []error
	deleted    []Deletion
	undeleted  []error
	lost       int
	health     []error
}

func (c *counts) with(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

func (c *counts) LineWritten(int, time.Duration)   { c.with(func() { c.lines++ }) }
func (c *counts) Synced(time.Duration, error)      {}
func (c *counts) Duplicate()                       { c.with(func() { c.duplicates++ }) }
func (c *counts) MovedAside(bytes int64, _ string) { c.with(func() { c.moved += bytes }) }
func (c *counts) Recreated(why string)             { c.with(func() { c.recreated = append(c.recreated, why) }) }
func (c *counts) Rotated(s string, _ int64)        { c.with(func() { c.rotated = append(c.rotated, s) }) }
func (c *counts) NotRotated(err error)             { c.with(func() { c.unrotated = append(c.unrotated, err) }) }
func (c *counts) Deleted(d Deletion)               { c.with(func() { c.deleted = append(c.deleted, d) }) }
func (c *counts) NotDeleted(err error)             { c.with(func() { c.undeleted = append(c.undeleted, err) }) }
func (c *counts) Lost(lines int, _ error)          { c.with(func() { c.lost += lines }) }
func (c *counts) Health(err error)                 { c.with(func() { c.health = append(c.health, err) }) }

// testOptions are those of the exporter, with times that a test can wait for.
func testOptions(path string) Options {
	return Options{
		Path:         path,
		Durability:   DurabilityWrite,
		SyncInterval: 20 * time.Millisecond,
		WriteTimeout: 10 * time.Second,
		LockTimeout:  time.Second,
		RetryLines:   1000,
		RetryAge:     time.Minute,
	}
}

func mustOpen(t *testing.T, opts Options) *Appender {
	t.Helper()
	a, err := Open(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = a.Close(t.Context()) })
	return a
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

func soon(t *testing.T, ok func() bool, what string) {
	t.Helper()
	require.Eventually(t, ok, 5*time.Second, 5*time.Millisecond, what)
}

// put is Append for tests that only ask whether it worked.
func put(ctx context.Context, a *Appender, lines ...[]byte) error {
	_, err := a.Append(ctx, lines...)
	return err
}
