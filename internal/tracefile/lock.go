package tracefile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// lockRetry is the time between two tries for a lock that another writer holds.
const lockRetry = 100 * time.Millisecond

// fileLock is a held lock file. The kernel frees it when the process ends, however it ends.
type fileLock struct {
	file *os.File
	info os.FileInfo
}

// lockPath is the lock file of the trace file at path, in the same folder.
func lockPath(path string) string { return path + lockSuffix }

const lockSuffix = ".lock"

// acquireLock takes the lock file name, which is that of the trace file or files at path, waiting for at
// most timeout.
func acquireLock(ctx context.Context, name, path string, timeout time.Duration, flock func(*os.File) error) (*fileLock, error) {
	deadline := time.Now().Add(timeout)
	for {
		lock, err := tryLock(name, flock)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return lock, err
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%s: %w, %s, for longer than %s (lock_timeout): "+
				"stop it, or give each collector a file of its own", path, ErrLocked, holder(name), timeout)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lockRetry):
		}
	}
}

func tryLock(name string, flock func(*os.File) error) (*fileLock, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, fmt.Errorf("the lock file: %w", err)
	}
	if err := flock(f); err != nil {
		_ = f.Close() // nothing was written to it
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, err
		}
		return nil, fmt.Errorf("locking %s: %w: where the file system has no locks, "+
			"set lock: off and make sure that no other collector writes the file", name, err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	lock := &fileLock{file: f, info: info}
	if ok, err := lock.inPlace(); !ok || err != nil {
		// Removed between the open and the lock, most likely: there is a next time.
		_ = f.Close()
		return nil, errors.Join(err, unix.EWOULDBLOCK)
	}
	lock.sign()
	return lock, nil
}

func flockExclusive(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// sign writes into the lock file who holds it. It is only for the error of the next one who wants
// it, so that it may fail: on a full disk for example.
func (l *fileLock) sign() {
	host, _ := os.Hostname()
	text := fmt.Sprintf("process %d on %s since %s\n", os.Getpid(), host, time.Now().UTC().Format(time.RFC3339))
	if l.file.Truncate(0) == nil {
		_, _ = l.file.WriteAt([]byte(text), 0)
	}
}

// inPlace reports whether the lock file is still the one at its path: one that was removed keeps
// nobody out. A disk that gives no answer takes no lock away: to lock again would then fail, against
// the lock that is held.
func (l *fileLock) inPlace() (bool, error) {
	there, err := os.Stat(l.file.Name())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("the lock file: %w", err)
	}
	return os.SameFile(there, l.info), nil
}

// release frees the lock. The file stays: to remove it would take it from whoever opened it and
// waits for it.
func (l *fileLock) release() { _ = l.file.Close() }

func holder(name string) string {
	text, _ := os.ReadFile(name)
	if who := strings.TrimSpace(string(text)); who != "" {
		return who
	}
	return "which did not leave its name in " + name
}

// owner is this process's own claim of a file: locks of some file systems (NFS) belong to processes
// and would let one process in twice, and lock: off has none at all.
type owner struct {
	path    string
	closing chan struct{}
	once    sync.Once
	gone    chan struct{}
}

var (
	ownersMu sync.Mutex
	owners   = map[string]*owner{}
)

// claimKey is by what a file is claimed, whatever symbolic links lead to it.
func claimKey(path string) string {
	key := path
	if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		key = filepath.Join(folder, filepath.Base(path))
	}
	if file, err := filepath.EvalSymlinks(key); err == nil {
		key = file
	}
	return key
}

// claim waits for a predecessor that is closing, and refuses when there is one that is not.
func claim(ctx context.Context, path, key string, timeout time.Duration) (*owner, error) {
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	for {
		mine := &owner{path: key, closing: make(chan struct{}), gone: make(chan struct{})}
		ownersMu.Lock()
		other := owners[key]
		if other == nil {
			owners[key] = mine
		}
		ownersMu.Unlock()
		if other == nil {
			return mine, nil
		}
		taken := fmt.Errorf("%s: %w, in this process: give each exporter a file of its own", path, ErrLocked)
		select {
		case <-other.closing:
		default:
			return nil, taken
		}
		select {
		case <-other.gone:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-deadline.C:
			return nil, fmt.Errorf("%w (it is closing, and its disk has not answered for %s)", taken, timeout)
		}
	}
}

func (o *owner) leaving() { o.once.Do(func() { close(o.closing) }) }

func (o *owner) release() {
	o.leaving()
	ownersMu.Lock()
	delete(owners, o.path)
	ownersMu.Unlock()
	close(o.gone)
}
