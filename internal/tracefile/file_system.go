package tracefile

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// fileSystem is what the writer needs of a file system. Tests put faults behind it.
type fileSystem interface {
	OpenFile(name string, flag int, perm os.FileMode) (file, error)
	Stat(name string) (os.FileInfo, error)
	MkdirAll(path string, perm os.FileMode) error
	SyncDir(path string) error
	SyncVolume(dir *os.File) error
	Rename(from, to string) error
	FreeBytes(path string) (uint64, error)
}

// file is what the writer needs of an open file.
type file interface {
	io.Writer
	io.ReaderAt
	io.WriterAt
	io.Closer
	Stat() (os.FileInfo, error)
	Sync() error
	Truncate(size int64) error
}

type osFileSystem struct{}

func (osFileSystem) OpenFile(name string, flag int, perm os.FileMode) (file, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err // not f: a nil *os.File is no nil file
	}
	return f, nil
}

func (osFileSystem) Stat(name string) (os.FileInfo, error) { return os.Stat(name) }

func (osFileSystem) MkdirAll(path string, perm os.FileMode) error { return os.MkdirAll(path, perm) }

func (osFileSystem) Rename(from, to string) error { return os.Rename(from, to) }

// SyncDir makes the entry of a new file durable. File systems that cannot sync a folder say EINVAL
// or ENOTSUP: they have nothing to offer that could be waited for.
func (osFileSystem) SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, d.Close())
}

// FreeBytes returns what an ordinary user may still write to the volume of path.
func (osFileSystem) FreeBytes(path string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, err
	}
	return st.Bavail * uint64(st.Bsize), nil
}

// fileID tells files of one host apart.
type fileID struct{ dev, ino uint64 }

func fileIDOf(info os.FileInfo) (fileID, bool) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fileID{uint64(st.Dev), st.Ino}, true //nolint:unconvert // 32 bits on Darwin
	}
	return fileID{}, false
}

// links returns how many names a file has; 1 where that cannot be told.
func links(info os.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink) //nolint:unconvert // 16 bits on Darwin
	}
	return 1
}
