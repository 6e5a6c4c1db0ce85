package tracefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// crashWindow is how much of the end of a file is searched for zeros at the start: what a second of a
// fast disk, the default sync_interval, can leave unsynced.
const crashWindow = 64 << 20

const tornSuffix = ".torn"

// repair opens the file anew and brings its end in order: what an fsync did not bring to the disk
// is written again in its place, and what is behind the last newline is taken away. After it every
// line of the file is whole and on the disk. On an error nothing has changed for the worse, and it
// is tried again later.
func (a *Appender) repair() error {
	a.syncMu.Lock()
	defer a.syncMu.Unlock()
	a.mu.Lock()
	old, unsynced := a.file, a.unsynced
	a.file = nil
	if a.broken == nil {
		a.broken = fmt.Errorf("%s is not open", a.opts.Path)
	}
	a.mu.Unlock()
	if old != nil {
		_ = old.Close() // what it could say is known: the file is broken
	}

	f, info, err := a.openFile()
	if err != nil {
		return err
	}
	if a.info != nil && !os.SameFile(a.info, info) {
		a.lost(len(unsynced), fmt.Errorf("%s is another file now", a.opts.Path))
		a.setUnsynced(nil)
		unsynced, a.pending = nil, nil
	}
	size := info.Size()
	asLeft := !a.opened && a.opts.member.leftAs(info)
	if asLeft {
		a.opened = true
	} else if size, err = a.settle(f, size, unsynced); err != nil {
		return errors.Join(fmt.Errorf("repairing %s: %w", a.opts.Path, err), f.Close())
	}
	if a.opts.Rotation.MaxAge > 0 {
		a.rotating.opened(f, info)
	}
	a.gone = false
	a.info, a.end, a.checkedEnd, a.pending = info, size, size, nil
	a.recent.begin(info)
	a.mu.Lock()
	var there []writtenLine
	if !asLeft {
		there, a.unsynced = a.unsynced, nil
	}
	a.file, a.broken = f, nil
	a.mu.Unlock()
	for _, line := range there {
		a.window.settle(line.key, true)
	}
	a.finishWaiting(nil)
	return nil
}

// settle does the work of repair on the opened file and returns its size afterwards.
func (a *Appender) settle(f file, size int64, unsynced []writtenLine) (int64, error) {
	good, err := a.writeAgain(f, size, unsynced)
	if err != nil {
		return 0, err
	}
	if good < len(unsynced) {
		newSize, there, err := a.settleMoved(f, size, unsynced[good:])
		if err != nil {
			return 0, err
		}
		size = newSize
		a.setUnsynced(append(unsynced[:good:good], there...))
	}
	if !a.opened {
		if size, err = a.cutZeros(f, size); err != nil {
			return 0, err
		}
	}
	if size, err = a.settleTail(f, size); err != nil {
		return 0, err
	}
	if len(a.rescue) > 0 {
		if n, err := f.Write(a.rescue); err != nil {
			if n > 0 {
				err = errors.Join(err, f.Truncate(size))
			}
			return 0, err
		}
		size += int64(len(a.rescue))
	}
	if err := errors.Join(a.syncFolders(), f.Sync()); err != nil {
		return 0, fmt.Errorf("fsync: %w", err)
	}
	a.rescue, a.opened = nil, true
	return size, nil
}

// cutZeros takes out what a crash of the machine left of lines that were not synced: a file may have
// got its new size, and later pages, before its earlier ones, which are zeros then, and no line has a
// zero. The whole lines behind them come back into the file; NAME.torn holds all of it.
func (a *Appender) cutZeros(f file, size int64) (int64, error) {
	section := io.NewSectionReader(f, max(0, size-crashWindow), min(size, crashWindow))
	buf := make([]byte, 64<<10)
	for at := max(0, size-crashWindow); ; {
		n, err := section.Read(buf)
		if i := bytes.IndexByte(buf[:n], 0); i >= 0 {
			return a.cutFrom(f, at+int64(i), size)
		}
		at += int64(n)
		if errors.Is(err, io.EOF) {
			return size, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// cutFrom moves everything from the line around zero on aside, and sets its whole lines for rescue.
func (a *Appender) cutFrom(f file, zero, size int64) (int64, error) {
	from, err := lastLineEnd(f, zero)
	if err != nil {
		return 0, err
	}
	data := make([]byte, size-from)
	if _, err := f.ReadAt(data, from); err != nil {
		return 0, err
	}
	if err := a.moveAside(f, from, size); err != nil {
		return 0, err
	}
	for line := range bytes.Lines(data) {
		if bytes.IndexByte(line, 0) < 0 && bytes.HasSuffix(line, []byte("\n")) {
			a.rescue = append(a.rescue, line...)
		}
	}
	return from, nil
}

// writeAgain compares the unsynced lines with the file and writes each over itself. It returns how many
// lines are where they were written.
func (a *Appender) writeAgain(f file, size int64, unsynced []writtenLine) (good int, err error) {
	var line []byte
	for good < len(unsynced) && unsynced[good].end <= size {
		u := unsynced[good]
		line = slices.Grow(line[:0], int(u.end-u.start))[:u.end-u.start]
		if _, err := f.ReadAt(line, u.start); err != nil {
			return 0, err
		}
		if a.window.hash(line) != u.key {
			break
		}
		good++
	}
	return good, a.rewrite(f, unsynced[:good])
}

// rewrite writes lines over themselves: after a failed fsync the kernel holds them for clean and would
// never write them again, while the disk may have nothing of them. Readers see no change.
func (a *Appender) rewrite(f file, lines []writtenLine) (err error) {
	if len(lines) == 0 {
		return nil
	}
	// Not the handle for appending: a write at an offset would go to the end there.
	w, err := a.fs.OpenFile(a.opts.Path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	var line []byte
	for _, u := range lines {
		line = slices.Grow(line[:0], int(u.end-u.start))[:u.end-u.start]
		if _, err := f.ReadAt(line, u.start); err != nil {
			return err
		}
		if _, err := w.WriteAt(line, u.start); err != nil {
			return err
		}
	}
	return nil
}

// settleTail takes away what is behind the last newline, and returns the size that is left. A line
// whose write failed may be there: whole, and then it is written after all; or in part, and then
// it is taken back, for its client was told. Everything else is from another time and moved aside.
func (a *Appender) settleTail(f file, size int64) (int64, error) {
	from, err := lastLineEnd(f, size)
	if err != nil {
		return 0, err
	}
	if n := int64(len(a.pending)); from == size && n > 0 && size == a.end+n {
		last := make([]byte, n)
		if _, err := f.ReadAt(last, size-n); err != nil {
			return 0, err
		}
		if bytes.Equal(last, a.pending) {
			a.window.settle(a.window.hash(last), true)
			a.obs.LineWritten(len(last), 0)
		}
		return size, nil
	}
	if from == size {
		return size, nil
	}
	if size-from < int64(len(a.pending)) {
		tail := make([]byte, size-from)
		if _, err := f.ReadAt(tail, from); err != nil {
			return 0, err
		}
		if bytes.HasPrefix(a.pending, tail) {
			return from, f.Truncate(from)
		}
	}
	return from, a.moveAside(f, from, size)
}

// moveAside appends the bytes from from to size to NAME.torn, with a newline behind them, and cuts
// them off the file when they are safe there.
func (a *Appender) moveAside(f file, from, size int64) (err error) {
	if from == size {
		return nil
	}
	name := a.opts.Path + tornSuffix
	torn, err := a.fs.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, fileMode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, torn.Close()) }()
	before, err := torn.Stat()
	if err != nil {
		return err
	}
	_, err = io.Copy(torn, io.NewSectionReader(f, from, size-from))
	if err == nil {
		_, err = torn.Write([]byte{'\n'})
	}
	if err == nil {
		err = torn.Sync()
	}
	if err == nil && before.Size() == 0 {
		err = a.fs.SyncDir(filepath.Dir(name))
	}
	if err != nil {
		// The next try begins again: without this a full disk would get a copy at each.
		return errors.Join(err, torn.Truncate(before.Size()))
	}
	if err := f.Truncate(from); err != nil {
		return err
	}
	a.obs.MovedAside(size-from, name)
	return nil
}

// lastLineEnd returns the offset behind the last newline before size.
func lastLineEnd(f io.ReaderAt, size int64) (int64, error) {
	buf := make([]byte, 64<<10)
	for to := size; to > 0; {
		from := max(0, to-int64(len(buf)))
		chunk := buf[:to-from]
		if _, err := f.ReadAt(chunk, from); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := bytes.LastIndexByte(chunk, '\n'); i >= 0 {
			return from + int64(i) + 1, nil
		}
		to = from
	}
	return 0, nil
}

func (a *Appender) setUnsynced(lines []writtenLine) {
	a.mu.Lock()
	a.unsynced = lines
	a.mu.Unlock()
}

// abandonWaiting ends the flights of lines that are gone.
func (a *Appender) abandonWaiting(gone []writtenLine) {
	lost := make(map[lineKey]bool, len(gone))
	for _, line := range gone {
		lost[line.key] = true
	}
	a.mu.Lock()
	var end []*flight
	kept := a.waiting[:0]
	for _, f := range a.waiting {
		if lost[f.key] {
			end = append(end, f)
		} else {
			kept = append(kept, f)
		}
	}
	a.waiting = kept
	a.mu.Unlock()
	for _, f := range end {
		a.window.finish(f, ErrInDoubt)
	}
}
