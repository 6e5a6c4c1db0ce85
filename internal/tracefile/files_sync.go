package tracefile

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"time"
)

// manyDirty is from how many files with unsynced lines on one sync of their whole volume takes the place
// of an fsync each. With 1,000 runs a second an fsync each was a third of the collector's CPU; a sync of
// the volume also waits for what other programs have written to it.
const manyDirty = 32

// unsyncedFile is what a closed file has that is not known to be on the disk.
type unsyncedFile struct {
	lines   []writtenLine
	folders []string
	turn    int // tells it from what the file has when it is closed the next time
	// doubt: an fsync failed. The next one could succeed and would mean nothing, for the kernel holds
	// the lines for written now.
	doubt bool
}

func (u unsyncedFile) empty() bool { return len(u.lines) == 0 && len(u.folders) == 0 }

// syncsTogether reports whether the files are synced by Files, not each by its own Appender.
func (f *Files) syncsTogether() bool {
	return canSyncVolume && f.alone == nil && f.opts.Durability == DurabilityWrite && f.opts.SyncInterval > 0
}

// syncRegularly brings the lines of all files to the disk every SyncInterval.
func (f *Files) syncRegularly() {
	ticker := time.NewTicker(f.opts.SyncInterval)
	defer ticker.Stop()
	for {
		select {
		case <-f.open.Done():
			return
		case <-ticker.C:
			_ = f.syncAll() // what is in doubt is repaired, and said by the files' own observers
		}
	}
}

// syncAll brings to the disk what was written before it began.
func (f *Files) syncAll() error {
	f.mu.Lock()
	closed, root := maps.Clone(f.unsynced), f.rootDir
	var doubt []string
	for path, u := range closed {
		if u.doubt {
			doubt = append(doubt, path)
			delete(closed, path)
		}
	}
	var marks []syncMark
	for _, file := range f.files {
		if file.app == nil || file.closing {
			continue
		}
		if mark, dirty := file.app.mark(); dirty {
			marks = append(marks, mark)
		}
	}
	f.mu.Unlock()
	var errs []error
	for _, path := range doubt {
		errs = append(errs, f.verify(path))
	}
	return errors.Join(append(errs, f.syncThese(closed, marks, root))...)
}

func (f *Files) syncThese(closed map[string]unsyncedFile, marks []syncMark, root *os.File) error {
	if len(closed)+len(marks) < manyDirty {
		return f.syncEach(closed, marks)
	}
	start := time.Now()
	err := f.opts.fs.SyncVolume(root)
	f.obs.Synced(time.Since(start), err)
	if err != nil {
		// Each file tells whether it is one of those in doubt.
		return errors.Join(fmt.Errorf("%s: syncing its volume: %w", f.root, err), f.syncEach(closed, marks))
	}
	for _, m := range marks {
		m.app.syncedUpTo(m)
	}
	f.forgetUnsynced(closed)
	return nil
}

// syncEach has an fsync for each file. A closed one is opened for it; where that fails its lines are in
// doubt.
func (f *Files) syncEach(closed map[string]unsyncedFile, marks []syncMark) error {
	var errs []error
	for _, m := range marks {
		errs = append(errs, m.app.syncOnce())
	}
	done := map[string]unsyncedFile{}
	for path, u := range closed {
		if err := f.syncClosed(path, u); err != nil {
			f.inDoubt(path)
			errs = append(errs, err, f.verify(path))
			continue
		}
		done[path] = u
	}
	f.forgetUnsynced(done)
	return errors.Join(errs...)
}

func (f *Files) syncClosed(path string, u unsyncedFile) error {
	for _, folder := range u.folders {
		if err := f.opts.fs.SyncDir(folder); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	file, err := f.opts.fs.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil // removed since: there is nothing to keep
	}
	if err != nil {
		return err
	}
	start := time.Now()
	err = file.Sync()
	f.obs.Synced(time.Since(start), err)
	return errors.Join(err, file.Close())
}

// inDoubt notes that a closed file must be verified.
func (f *Files) inDoubt(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.left, path)
	if u, ok := f.unsynced[path]; ok {
		u.doubt = true
		f.unsynced[path] = u
	}
}

// verify opens a file that is in doubt, which verifies its lines and writes them again.
func (f *Files) verify(path string) error {
	file, err := f.acquire(f.open, path)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", path, ErrInDoubt, err)
	}
	f.release(file)
	return nil
}

// forgetUnsynced forgets what was synced, unless it was written to and closed again since.
func (f *Files) forgetUnsynced(synced map[string]unsyncedFile) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for path, u := range synced {
		if now, ok := f.unsynced[path]; ok && now.turn == u.turn && !now.doubt {
			delete(f.unsynced, path)
			f.unsyncedLines -= len(u.lines)
		}
	}
}

// keepUnsynced notes what a file that was closed has not on the disk. The caller holds mu.
func (f *Files) keepUnsynced(path string, u unsyncedFile) {
	if u.empty() {
		return
	}
	if f.unsyncedLines > maxUnsynced {
		clear(f.unsynced) // the disk hangs: they could not be verified anymore
		f.unsyncedLines = 0
	}
	f.turn++
	u.turn = f.turn
	f.unsynced[path] = u
	f.unsyncedLines += len(u.lines)
}

// takeUnsynced hands what a file has not on the disk to the Appender that opens it. The caller holds mu.
func (f *Files) takeUnsynced(path string) unsyncedFile {
	u := f.unsynced[path]
	delete(f.unsynced, path)
	f.unsyncedLines -= len(u.lines)
	return u
}

// syncMark is up to where a file was written when a sync of the volume began.
type syncMark struct {
	app  *Appender
	file file
	upTo int64
}

// mark returns up to where the file is written, if not all of it is known to be on the disk.
func (a *Appender) mark() (syncMark, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken != nil || len(a.unsynced) == 0 {
		return syncMark{}, false
	}
	return syncMark{app: a, file: a.file, upTo: a.unsynced[len(a.unsynced)-1].end}, true
}

// syncedUpTo notes what a sync of the volume brought to the disk. A file that was opened anew or
// rotated since has been synced on its own.
func (a *Appender) syncedUpTo(m syncMark) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == m.file {
		a.dropSynced(m.upTo)
	}
}
