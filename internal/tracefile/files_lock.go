package tracefile

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// runsLockName is the lock file of all files below a folder. No value of a template begins with a dot
// in a name, so that no run has this one.
const runsLockName = ".runspan.lock"

// openRoot has the folder before the first placeholder and the lock in it.
func (f *Files) openRoot(ctx context.Context) error {
	f.key = claimKey(f.root)
	own, err := claim(ctx, f.root, filepath.Join(f.key, runsLockName), f.opts.LockTimeout)
	if err != nil {
		return err
	}
	f.owner = own
	lock, err := f.lockRoot(ctx, f.opts.LockTimeout)
	if err != nil {
		own.release()
		return err
	}
	f.lock = lock
	if f.rootDir, err = os.Open(f.root); err != nil {
		if lock != nil {
			lock.release()
		}
		own.release()
	}
	return err
}

// lockRoot returns the held lock; nil with NoLock.
func (f *Files) lockRoot(ctx context.Context, timeout time.Duration) (*fileLock, error) {
	if err := makeFolder(f.opts.fs, f.root, f.opts.CreateDirectory); err != nil {
		return nil, err
	}
	if f.opts.NoLock {
		return nil, nil //nolint:nilnil // no lock is wanted
	}
	return acquireLock(ctx, filepath.Join(f.root, runsLockName), f.root, timeout, f.opts.flock)
}

// lookAfter sees to it that the lock is held, and closes files that nothing is written to.
func (f *Files) lookAfter() {
	ticker := time.NewTicker(checkEvery)
	defer ticker.Stop()
	for {
		select {
		case <-f.open.Done():
			return
		case <-ticker.C:
		}
		f.checkLock()
		f.checkForeign()
		f.closeIdle(time.Now())
		f.health.expire(time.Now())
	}
}

// checkLock takes the lock again when its file or the whole folder was removed. Nothing is written
// while somebody else has it.
func (f *Files) checkLock() {
	if f.opts.NoLock {
		return
	}
	ok, err := f.lock.inPlace()
	if ok || err != nil {
		return // a disk that gives no answer takes no lock away
	}
	var dir *os.File
	lock, err := f.lockRoot(f.open, 0)
	if err == nil {
		f.lock.release()
		f.lock = lock
		dir, err = os.Open(f.root)
	} else {
		err = fmt.Errorf("%s: the lock file is gone: %w", f.root, cmp.Or(err, fs.ErrNotExist))
	}
	f.health.set(f.root, err, time.Time{})
	f.mu.Lock()
	f.locked = err
	if dir != nil {
		f.rootDir = dir // the other one may be in use
	}
	f.mu.Unlock()
}

// foreignWriter returns ErrLocked when another process writes the file of a run as its only file: that
// one has another lock, NAME.lock beside the file.
func (f *Files) foreignWriter(path string) error {
	if f.opts.NoLock {
		return nil
	}
	name := lockPath(path)
	// A lock that cannot be asked for keeps nobody out: there is none beside the file of a run normally.
	if held, err := lockHeld(name); err != nil || !held {
		return nil //nolint:nilerr // see above
	}
	return fmt.Errorf("%s: %w, %s, which has a path without placeholders: give each exporter a folder of its own",
		path, ErrLocked, holder(name))
}

// checkForeign looks whether another writer has come to a file that is open. Nothing more is written
// to it then, until that one is gone.
func (f *Files) checkForeign() {
	f.mu.Lock()
	open := slices.Collect(maps.Values(f.files))
	f.mu.Unlock()
	for _, file := range open {
		err := f.foreignWriter(file.path)
		f.mu.Lock()
		tell := !file.closing && (err != nil || file.foreign != nil)
		if tell {
			file.foreign = err
			if err != nil && file.unused() {
				f.startClosing(file) // what the other one writes is no damage to be repaired
			}
		}
		f.mu.Unlock()
		if tell {
			f.health.set(file.path, err, time.Now().Add(failingTime))
		}
	}
}

func (f *Files) closeIdle(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for e := f.used.Back(); e != nil; {
		file := e.Value.(*openFile)
		e = e.Prev()
		if now.Sub(file.last) < f.opts.idleClose {
			return
		}
		if file.unused() {
			f.startClosing(file)
		}
	}
}
