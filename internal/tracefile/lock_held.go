package tracefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Writer returns who may be writing the live file at path: the holder of its lock or of the lock of a
// folder of runs that it is in, unless its run is idle there: without a line for DefaultRunIdle. It is
// "" when nobody does. A writer with lock: off is not seen.
func Writer(path string) (who string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		abs = filepath.Join(folder, filepath.Base(abs))
	}
	if held, err := lockHeld(lockPath(abs)); held || err != nil {
		return holder(lockPath(abs)), err
	}
	if time.Since(info.ModTime()) > DefaultRunIdle {
		return "", nil
	}
	for folder := filepath.Dir(abs); ; folder = filepath.Dir(folder) {
		name := filepath.Join(folder, runsLockName)
		if held, err := lockHeld(name); held || err != nil {
			return holder(name), err
		}
		if folder == filepath.Dir(folder) {
			return "", nil
		}
	}
}

// lockHeld reports whether somebody holds a lock file. It takes a shared lock for a moment: whoever
// wants the lock just then tries again.
func lockHeld(name string) (bool, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }() // frees the lock
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("asking for the lock %s: %w", name, err)
	}
	return false, nil
}

// RemoveLive deletes the live file at path, with what a crash tore of it and its lock file. It fails
// with ErrLocked when a writer has the file, or takes it just then. Where a writer of many runs takes up
// an idle one just then, it notices, and writes its new lines again.
func RemoveLive(path string) error {
	who, err := Writer(path)
	if err != nil {
		return err
	}
	if who != "" {
		return fmt.Errorf("%s: %w, %s", path, ErrLocked, who)
	}
	// Holding the lock, and not only having looked at it, keeps out a collector that starts now. Whoever
	// waits for the lock sees that the file under it is gone and makes a new one.
	lock, err := tryLock(lockPath(path), flockExclusive)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("%s: %w", path, ErrLocked)
	}
	if err != nil {
		return err
	}
	defer lock.release()
	err = os.Remove(path)
	for _, beside := range []string{path + tornSuffix, lockPath(path)} {
		if e := os.Remove(beside); err == nil && !errors.Is(e, fs.ErrNotExist) {
			err = e
		}
	}
	return err
}
