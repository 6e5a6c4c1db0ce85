package tracefile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Retention says which files of a template are deleted: closed segments, and where the template has
// placeholders the files of runs that are idle. A live file of a run that is not idle is never deleted,
// nor is any file of a pinned run. The zero Retention deletes nothing.
type Retention struct {
	// MaxAge is how long a file is kept after its last line. 0: for ever.
	MaxAge time.Duration
	// MaxBytes is how many bytes all files of the template may have, those that must not be deleted
	// too; the oldest go first. 0: any number.
	MaxBytes int64
	// MinFree is how many bytes of the volume stay free; below it the oldest files go. 0: none.
	MinFree int64
	// RunIdle is the time after its last line from which on a run is idle. 0: DefaultRunIdle.
	RunIdle time.Duration
	// Places are folders of readers in other processes: what they have not read is counted. Those of
	// this process are known.
	Places []string
}

// DefaultRunIdle is the time without a span after which a run is idle: longer than a night without a
// checkpoint, and than most queues for a GPU.
const DefaultRunIdle = 24 * time.Hour

// Why files are deleted, as it stands in metrics.
const (
	DeletedForAge     = "max_age"
	DeletedForBytes   = "max_bytes"
	DeletedForMinFree = "min_free"
)

// Deletion is a file that was deleted.
type Deletion struct {
	Path   string
	Bytes  int64
	Reason string
	Age    time.Duration // since its last line
	// Unread is how many bytes of it each reader had not delivered, by the name of the reader; those
	// that had all of it are not in it.
	Unread map[string]int64
}

const (
	// minFreeEvery is the time between two looks at the free space: a disk of 500 MB/s writes as much
	// in between, which is the least that makes a sensible MinFree.
	minFreeEvery = time.Second

	// retainEvery is the time between two looks at all files.
	retainEvery = 10 * time.Second

	// retainShare bounds what looking costs, as tailLookShare does: 100 ms for ten thousand files
	// every 10 s. It does not hold while less than MinFree is free: a full disk refuses spans.
	retainShare = 50
)

var errNothingToDelete = errors.New("there is nothing that may be deleted: only closed segments and the files of idle " +
	"runs, and none of a pinned one")

func (r Retention) enabled() bool { return r.MaxAge > 0 || r.MaxBytes > 0 || r.MinFree > 0 }

// retained is a file that was found.
type retained struct {
	path    string
	live    string
	order   tailOrder
	bytes   int64
	written time.Time
}

// retain deletes files until Close.
func (f *Files) retain() {
	r := f.opts.Retention
	ticker := time.NewTicker(f.opts.minFreeEvery)
	defer ticker.Stop()
	var next, nextForSpace, rested time.Time
	segment, failing := false, false
	for {
		urgent := true
		select {
		case <-f.open.Done():
			return
		case <-ticker.C:
		case <-f.rotated:
			segment, urgent = true, false
		case <-f.full:
		}
		started := time.Now()
		// Segments that are closed many times a second get half of a core at most. And where nothing could
		// be deleted the last time, it is looked at again when something has changed.
		forSpace := r.MinFree > 0 && (urgent || started.After(rested)) && (segment || started.After(nextForSpace)) &&
			f.freeBytes() < uint64(r.MinFree)
		forBytes := r.MaxBytes > 0 && segment
		if !forSpace && !forBytes && started.Before(next) {
			continue
		}
		segment = false
		again, err := f.deleteOld(started)
		if err != nil && !failing {
			f.obs.NotDeleted(err)
		}
		failing = err != nil
		took := time.Since(started)
		rested = time.Now().Add(took)
		next = time.Now().Add(max(f.opts.retainEvery, retainShare*took))
		nextForSpace = time.Time{}
		if failing && f.freeBytes() < uint64(r.MinFree) {
			nextForSpace = next
			if again.Before(next) {
				nextForSpace = again
			}
		}
	}
}

// freeBytes returns the free space, all of the world where that cannot be told.
func (f *Files) freeBytes() uint64 {
	free, err := f.opts.fs.FreeBytes(f.root)
	if err != nil {
		return ^uint64(0)
	}
	return free
}

// deleteOld deletes what must not stay. The error says what limit cannot be kept, or what could not be
// deleted; again is when more of what was found may be deleted than now.
func (f *Files) deleteOld(now time.Time) (again time.Time, err error) {
	again = now.Add(max(f.opts.Retention.RunIdle, f.opts.retainEvery))
	files, err := f.findAll()
	if err != nil {
		return again, err
	}
	var total int64
	for _, file := range files {
		total += file.bytes
	}
	r := f.opts.Retention
	var errs []error
	progress := false
	readers := placeReaders{folders: r.Places}
	for _, file := range files {
		age := now.Sub(file.written)
		if file.order.live && f.alone != nil {
			continue
		}
		if file.order.live && age < r.RunIdle {
			if idle := file.written.Add(r.RunIdle); idle.Before(again) {
				again = idle
			}
			continue
		}
		reason := ""
		switch {
		case r.MaxAge > 0 && age > r.MaxAge:
			reason = DeletedForAge
		case r.MaxBytes > 0 && total > r.MaxBytes:
			reason = DeletedForBytes
		case r.MinFree > 0 && f.freeBytes() < uint64(r.MinFree):
			reason = DeletedForMinFree
		default:
			return again, errors.Join(errs...) // the others are younger
		}
		if pinned, err := Pinned(file.live); pinned {
			errs = append(errs, err)
			continue
		}
		unread := readers.unread(file.path, file.bytes)
		deleted, err := f.delete(file)
		if err != nil {
			errs = append(errs, err)
		}
		if !deleted && err == nil {
			again = now // it is gone, or open just now
		}
		if deleted {
			progress = true
			total -= file.bytes
			f.obs.Deleted(Deletion{Path: file.path, Bytes: file.bytes, Reason: reason, Age: age, Unread: unread})
		}
	}
	if progress {
		again = now // there may be more by now
	}
	switch {
	case r.MaxBytes > 0 && total > r.MaxBytes:
		errs = append(errs, fmt.Errorf("%s: %d bytes in files, max_bytes is %d: %w", f.opts.Template, total, r.MaxBytes, errNothingToDelete))
	case r.MinFree > 0 && !progress && f.freeBytes() < uint64(r.MinFree):
		errs = append(errs, fmt.Errorf("%s: %d bytes free, min_free is %d: %w", f.opts.Template, f.freeBytes(), r.MinFree, errNothingToDelete))
	}
	return again, errors.Join(errs...)
}

// findAll returns the files of the template and their segments, those that were written last at the
// end.
func (f *Files) findAll() ([]retained, error) {
	paths, err := tailGlob(f.template.Glob())
	if err != nil {
		return nil, fmt.Errorf("%s: looking for its files: %w", f.template, err)
	}
	slices.Sort(paths)
	var files []retained
	for _, path := range slices.Compact(paths) { // a pattern that ends with * names segments as well
		order := tailOrderOf(path)
		// Nothing that another program put there under a name that no value gives.
		if _, ours := f.template.Match(order.log); !ours {
			continue
		}
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue // gone since, or nothing of ours
		}
		files = append(files, retained{path: path, live: order.log, order: order, bytes: info.Size(), written: info.ModTime()})
	}
	slices.SortFunc(files, func(a, b retained) int {
		return cmp.Or(a.written.Compare(b.written), a.order.compare(b.order))
	})
	return files, nil
}

// delete deletes a file, unless it is the live one of a run that is not idle anymore.
func (f *Files) delete(file retained) (deleted bool, err error) {
	if !file.order.live {
		return removed(os.Remove(file.path))
	}
	free, ok := f.block(file.path)
	if !ok {
		return false, nil
	}
	defer free()
	// It may have been opened, written to and closed since it was found.
	info, err := os.Lstat(file.path)
	if err != nil || info.Size() != file.bytes || !info.ModTime().Equal(file.written) {
		return removed(err)
	}
	if deleted, err = removed(os.Remove(file.path)); !deleted {
		return false, err
	}
	if _, err := removed(os.Remove(file.path + tornSuffix)); err != nil {
		return true, err
	}
	// The folders that are empty now; others have runs in them.
	for dir := filepath.Dir(file.path); strings.HasPrefix(dir, f.root+"/") && os.Remove(dir) == nil; {
		dir = filepath.Dir(dir)
	}
	return true, nil
}

func removed(err error) (bool, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// block keeps the file at path from being opened until free is called. It is false where it is open.
func (f *Files) block(path string) (free func(), ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, open := f.files[path]; open || f.closed {
		return nil, false
	}
	blocked := &openFile{path: path, ready: make(chan struct{}), gone: make(chan struct{}), closing: true, err: errBlocked}
	close(blocked.ready)
	f.files[path] = blocked
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.files, path)
		delete(f.left, path)
		f.takeUnsynced(path)
		close(blocked.gone)
	}, true
}

var errBlocked = errors.New("the file is being deleted")
