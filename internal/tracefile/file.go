package tracefile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	// Readers of a shared file are other users and other hosts; the umask can take the right away.
	fileMode   = 0o644
	folderMode = 0o755
)

// openFile opens the file at the path for appending, and makes it where it is missing.
func (a *Appender) openFile() (file, os.FileInfo, error) {
	const flags = os.O_RDWR | os.O_CREATE | os.O_APPEND
	f, err := a.fs.OpenFile(a.opts.Path, flags, fileMode)
	// More than once: retention removes the empty folders of other runs meanwhile.
	for n := 0; n < 3 && errors.Is(err, fs.ErrNotExist) && a.opts.member != nil; n++ {
		if err = a.makeMemberFolder(); err == nil {
			f, err = a.fs.OpenFile(a.opts.Path, flags, fileMode)
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("opening the trace file: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file: lines could not be taken back there", a.opts.Path)
	}
	if err == nil && info.Size() == 0 {
		a.newIn(filepath.Dir(a.opts.Path))
		// Of many files each waits for the first fsync of its own.
		if a.opts.member == nil {
			err = a.syncFolders()
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// newIn notes that folders have new entries.
func (a *Appender) newIn(folders ...string) {
	for _, folder := range folders {
		if !slices.Contains(a.folders, folder) {
			a.folders = append(a.folders, folder)
		}
	}
}

// syncFolders makes the entries of new files and folders durable. The caller holds syncMu.
func (a *Appender) syncFolders() error {
	for len(a.folders) > 0 {
		last := len(a.folders) - 1
		if err := a.fs.SyncDir(a.folders[last]); err != nil {
			return err
		}
		a.folders = a.folders[:last]
	}
	return nil
}

// makeFolder makes the folder of a file where that is wanted.
func makeFolder(fs fileSystem, folder string, create bool) error {
	if create {
		if err := fs.MkdirAll(folder, folderMode); err != nil {
			return fmt.Errorf("making the folder %s: %w", folder, err)
		}
		return nil
	}
	if _, err := fs.Stat(folder); err != nil {
		return fmt.Errorf("the folder %s (create_directory: true makes it): %w", folder, err)
	}
	return nil
}

// holdLock has the folder and the lock in it, also after somebody removed them.
func (a *Appender) holdLock(timeout time.Duration) error {
	if a.opts.member != nil {
		return nil // one lock for all, and folders are made when they turn out to be missing
	}
	if err := makeFolder(a.fs, filepath.Dir(a.opts.Path), a.opts.CreateDirectory); err != nil {
		return err
	}
	if a.opts.NoLock {
		return nil
	}
	if a.lock != nil {
		if ok, err := a.lock.inPlace(); ok || err != nil {
			return err
		}
	}
	lock, err := acquireLock(a.open, lockPath(a.opts.Path), a.opts.Path, timeout, a.opts.flock)
	if err != nil {
		return err
	}
	if a.lock != nil {
		a.lock.release()
	}
	a.lock = lock
	return nil
}

// check sees to it twice a second, also when nothing is written, that the path leads to the open
// file, that the file is as it was left, and that what was broken is repaired.
func (a *Appender) check() {
	if a.file != nil {
		a.checkPath()
	}
	if a.leftAlone() {
		return
	}
	if a.usable() != nil {
		return
	}
	if a.rotationDue(0) {
		a.rotate()
		if a.usable() != nil {
			return
		}
	}
	if a.health.is(ReasonNoSpace) {
		// Whoever asks before sending would never hear that there is space again.
		if free, err := a.fs.FreeBytes(filepath.Dir(a.opts.Path)); err == nil && free > uint64(a.needs) {
			a.health.set(a.obs, nil)
		}
	}
}

func (a *Appender) checkPath() {
	there, err := a.fs.Stat(a.opts.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		a.replaced("it was deleted or renamed")
		return
	case err != nil:
		a.fail(err)
		return
	case !os.SameFile(there, a.info):
		a.replaced("another file took its place")
		return
	}
	if a.lock != nil {
		if ok, err := a.lock.inPlace(); !ok || err != nil {
			a.fail(fmt.Errorf("%s: the lock file is gone: %w", a.opts.Path, cmp.Or(err, fs.ErrNotExist)))
			return
		}
	}
	mine, err := a.file.Stat()
	switch {
	case err != nil:
		a.fail(err)
	case mine.Size() != a.end:
		a.fail(fmt.Errorf("%s was changed by another program: it has %d bytes and should have %d",
			a.opts.Path, mine.Size(), a.end))
	default:
		a.checkedEnd = a.end
	}
}

// replaced gives up the open file, to which the path does not lead anymore. A renamed file keeps
// its lines. The lines that a deleted one got since the last check were acknowledged after it was
// gone, perhaps: its successor gets them.
func (a *Appender) replaced(why string) {
	a.syncMu.Lock()
	old := a.file
	info, err := old.Stat()
	if err == nil && links(info) == 0 {
		a.rescue = make([]byte, a.end-a.checkedEnd)
		_, err = old.ReadAt(a.rescue, a.checkedEnd)
		if err != nil {
			a.rescue = nil
		}
	} else if err == nil {
		err = old.Sync()
	}
	_ = old.Close() // everything in it is accounted for
	a.mu.Lock()
	unsynced := a.unsynced
	a.file, a.unsynced = nil, nil
	a.broken = fmt.Errorf("%s: %s", a.opts.Path, why)
	a.mu.Unlock()
	a.info, a.pending = nil, nil
	a.gone = true
	a.syncMu.Unlock()

	if err != nil {
		a.lost(len(unsynced), err)
		for _, line := range unsynced {
			a.window.settle(line.key, false)
		}
		a.finishWaiting(fmt.Errorf("%w: %w", ErrInDoubt, err))
	} else if a.rescue == nil {
		a.finishWaiting(nil)
	}
	a.lastTry = nil
	a.obs.Recreated(why)
}

// lost reports acknowledged lines that are gone. With DurabilitySync unsynced ones never were.
func (a *Appender) lost(lines int, why error) {
	if lines > 0 && a.opts.Durability == DurabilityWrite {
		a.obs.Lost(lines, why)
	}
}
