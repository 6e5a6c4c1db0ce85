package tracefile

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"
)

// Rotation says when a trace file is closed: renamed to a segment, NAME-<UTC time>-<n>.jsonl beside it.
// The next line goes to a new file of the old name. A file without a line is not closed.
type Rotation struct {
	// MaxBytes closes the file before a line that would make it longer; a longer line has a segment
	// of its own. 0: never.
	MaxBytes int64
	// MaxAge closes the file this long after it was made, to half a second. 0: never.
	MaxAge time.Duration
}

// rotationRetry is the time between two tries to close a file that could not be renamed.
const rotationRetry = 10 * time.Second

// rotating is what the writing goroutine remembers for rotation.
type rotating struct {
	made  time.Time // when the file was
	after time.Time // not before
	last  tailOrder // the newest segment, once it is known
}

// opened notes when a newly opened file was made.
func (r *rotating) opened(f file, info os.FileInfo) {
	r.made = time.Now()
	if info.Size() > 0 {
		r.made = birthTime(f, info)
	}
}

// rotationDue reports whether the file must be closed before a line of n bytes is written.
func (a *Appender) rotationDue(n int) bool {
	r := a.opts.Rotation
	if a.end == 0 {
		a.rotating.made = time.Now() // its age is that of its first line
		return false
	}
	if r.MaxBytes > 0 && a.end+int64(n) > r.MaxBytes || r.MaxAge > 0 && time.Since(a.rotating.made) >= r.MaxAge {
		return time.Now().After(a.rotating.after)
	}
	return false
}

// rotate closes the file as a segment. Where that fails the file is written on: better a long file
// than a lost line.
func (a *Appender) rotate() {
	segment, bytes, err := a.closeSegment()
	if err != nil {
		a.rotating.after = time.Now().Add(rotationRetry)
		a.obs.NotRotated(err)
		return
	}
	a.obs.Rotated(segment, bytes)
}

func (a *Appender) closeSegment() (segment string, bytes int64, err error) {
	a.syncMu.Lock()
	defer a.syncMu.Unlock()
	there, err := a.fs.Stat(a.opts.Path)
	if err != nil {
		return "", 0, fmt.Errorf("closing %s as a segment: %w", a.opts.Path, err)
	}
	if !os.SameFile(there, a.info) {
		return "", 0, fmt.Errorf("closing %s as a segment: another file took its place", a.opts.Path)
	}
	// All of it must be on the disk before: lines in doubt are written again in their place, and
	// that is in no file with this name anymore.
	if err := a.file.Sync(); err != nil {
		err = fmt.Errorf("%w: fsync: %w", ErrInDoubt, err)
		a.fail(err)
		return "", 0, err
	}
	segment = a.nextSegment()
	if err := a.fs.Rename(a.opts.Path, segment); err != nil {
		return "", 0, fmt.Errorf("closing %s as a segment: %w", a.opts.Path, err)
	}
	_ = a.file.Close() // it was synced
	bytes = a.end
	a.mu.Lock()
	a.file, a.unsynced = nil, nil
	a.broken = fmt.Errorf("%s is not open", a.opts.Path)
	a.mu.Unlock()
	a.info, a.pending, a.lastTry = nil, nil, nil
	a.end, a.checkedEnd = 0, 0
	a.finishWaiting(nil)
	a.newIn(filepath.Dir(segment))
	return segment, bytes, nil
}

// nextSegment returns a name that is behind those of all segments so far, also after the clock was
// set back.
func (a *Appender) nextSegment() string {
	const layout = "20060102150405"
	r := &a.rotating
	if r.last.log == "" {
		r.last = lastSegment(a.opts.Path)
	}
	at, number := time.Now().UTC().Truncate(time.Second), 1
	if digits := r.last.time; len(digits) >= len(layout) {
		last, err := time.Parse(layout, digits[:len(layout)])
		switch {
		case err != nil || last.Before(at):
		case len(digits) == len(layout) && r.last.number < math.MaxInt32:
			at, number = last, r.last.number+1
		default:
			at = last.Add(time.Second)
		}
	}
	for {
		segment := SegmentPath(a.opts.Path, at, number)
		if _, err := os.Lstat(segment); err != nil { // the rename says what is wrong if it is there
			r.last = tailOrderOf(segment)
			return segment
		}
		number++
	}
}

// lastSegment returns the newest segment of a log; one of no time where there is none.
func lastSegment(path string) tailOrder {
	last := tailOrder{log: path}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return last // the rename says what is wrong with the folder
	}
	for _, e := range entries {
		order := tailOrderOf(filepath.Join(filepath.Dir(path), e.Name()))
		if order.log == path && !order.live && last.compare(order) < 0 {
			last = order
		}
	}
	return last
}
