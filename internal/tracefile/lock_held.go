package tracefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"
)

// lockLevels is how many folders above a trace file may hold the lock of its writer. That of a path
// with placeholders is in the folder before the first one.
const lockLevels = 4

// lockSignature is what fileLock.sign writes. Other programs have *.lock files too.
var lockSignature = regexp.MustCompile(`^process \d+ on .* since \S+\n$`)

// Writer returns who may be writing the live file at path: the holder of its lock, or of one for files
// with placeholders in a folder above. It is "" when nobody does. A writer with lock: off is not seen.
func Writer(path string) (who string, err error) {
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
	for folder, level := filepath.Dir(abs), 0; level <= lockLevels; folder, level = filepath.Dir(folder), level+1 {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return "", err
		}
		for _, entry := range entries {
			name := filepath.Join(folder, entry.Name())
			if !isTemplateLock(entry, name) {
				continue
			}
			if held, err := lockHeld(name); held || err != nil {
				return holder(name), err
			}
		}
	}
	return "", nil
}

// isTemplateLock reports whether a file is the lock of many trace files: one that a writer signed, and
// that is not for a file which is there.
func isTemplateLock(entry fs.DirEntry, name string) bool {
	of, isLock := strings.CutSuffix(name, lockSuffix)
	if !isLock || !entry.Type().IsRegular() {
		return false
	}
	if _, err := os.Lstat(of); err == nil {
		return false
	}
	text, err := os.ReadFile(name)
	return err == nil && lockSignature.Match(text)
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
// with ErrLocked when a writer has the file, or takes it just then.
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
