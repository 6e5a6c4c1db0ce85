package tracefile

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"
)

// tailLookShare bounds what looking costs: after a look of 1 ms the next comes after 20 ms at the
// earliest, so that ten thousand files take a twentieth of a core, not all of it.
const tailLookShare = 20

// look finds the files and what became of those that it knew.
func (t *Tail) look() {
	started := time.Now()
	found := t.findFiles()
	t.mu.Lock()
	known := maps.Clone(t.files)
	t.mu.Unlock()

	for fingerprint, look := range found {
		f, ok := known[fingerprint]
		if !ok {
			f = t.adopt(look)
		}
		t.update(f, look, started)
	}
	for fingerprint, f := range known {
		if _, ok := found[fingerprint]; !ok {
			t.missing(f, started)
		}
	}
	t.sortLogs(started)
	t.follow()
	t.looked = true

	if started.After(t.nextPrune) {
		t.nextPrune = started.Add(time.Hour)
		t.places.prune(func(fingerprint string) bool { _, ok := found[fingerprint]; return ok }, started)
	}
	t.soonest = started.Add(tailLookShare * time.Since(started))
	if t.nextLook = started.Add(t.set.PollInterval); t.nextLook.Before(t.soonest) {
		t.nextLook = t.soonest
	}
}

// findFiles returns what the patterns name, by fingerprint. Two paths with the same first line are
// one file: it was renamed during the look, or copied.
func (t *Tail) findFiles() map[string]tailLook {
	looks := map[string]tailLook{}
	found := map[string]tailLook{}
	for _, pattern := range t.set.Include {
		paths, err := tailGlob(pattern)
		if err != nil {
			continue // the config was refused
		}
		for _, path := range paths {
			if _, done := looks[path]; done {
				continue
			}
			look, err := t.lookAt(path)
			t.tellUnreadable("look at ", path, err)
			if err != nil || look.info == nil {
				continue
			}
			looks[path] = look
			if other, twice := found[look.fingerprint]; twice && other.info.Size() >= look.info.Size() {
				continue
			}
			if look.fingerprint != "" {
				found[look.fingerprint] = look
			}
		}
	}
	t.looks = looks
	return found
}

// lookAt returns what is at a path; nothing where there is no plain file. The file is opened, not
// only asked for its state: that is when a network file system asks its server.
func (t *Tail) lookAt(path string) (tailLook, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return tailLook{}, nil // opening a pipe would wait for its writer
	}
	if err != nil {
		return tailLook{}, err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return tailLook{}, nil
	}
	if err != nil {
		return tailLook{}, err
	}
	defer func() { _ = f.Close() }() // it was only read
	if info, err = f.Stat(); err != nil {
		return tailLook{}, err
	}
	// Whether a file that only grew is another one shows when it is read.
	if last := t.looks[path]; last.fingerprint != "" && os.SameFile(last.info, info) && info.Size() >= last.info.Size() {
		return tailLook{path: path, fingerprint: last.fingerprint, info: info}, nil
	}
	fingerprint, err := tailFingerprint(f)
	return tailLook{path: path, fingerprint: fingerprint, info: info}, err
}

// tellUnreadable tells once that something with a path fails, until it works again.
func (t *Tail) tellUnreadable(what, path string, err error) {
	told := t.told[what+path]
	if err == nil {
		if told {
			delete(t.told, what+path)
		}
		return
	}
	t.told[what+path] = true
	if !told {
		t.set.OnEvent(TailEvent{Kind: TailUnreadable, Path: path, Err: err})
	}
}

// adopt begins to read a file: at its place, or where StartAtEnd says.
func (t *Tail) adopt(look tailLook) *tailFile {
	f := &tailFile{fingerprint: look.fingerprint, path: look.path}
	offset, err := t.places.load(look.fingerprint)
	event := TailEvent{Kind: TailFileResumed, Path: look.path, Bytes: look.info.Size()}
	if err != nil {
		t.tellPlace(look.path, err)
		event.Kind, offset = TailFileFound, 0
		if t.set.StartAtEnd && !t.looked {
			offset = t.lineEnd(look)
		}
	}
	event.Offset = offset
	f.restart(offset)
	if err == nil || offset == 0 && errors.Is(err, fs.ErrNotExist) {
		f.saved = offset // nothing to be written that is not there
	}
	// What was written before is at least as old as the last write.
	f.seen = append(f.seen, tailSeen{look.info.Size(), look.info.ModTime()})
	t.mu.Lock()
	t.files[look.fingerprint] = f
	t.mu.Unlock()
	t.set.OnEvent(event)
	return f
}

func (t *Tail) tellPlace(path string, err error) {
	event := TailEvent{Kind: TailPlaceUnreadable, Path: path, Err: err}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case errors.Is(err, errTailPlaceDamaged):
		event.Kind = TailPlaceDamaged
	case errors.Is(err, errTailPlaceForeign):
		event.Kind = TailPlaceForeign
	}
	t.set.OnEvent(event)
}

// lineEnd returns the offset after the last whole line of a file, its beginning if it cannot be read.
func (t *Tail) lineEnd(look tailLook) int64 {
	f, err := os.Open(look.path)
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }() // it was only read
	end, err := lastLineEnd(f, look.info.Size())
	if err != nil {
		return 0
	}
	return end
}

// update notes where a file is now and how large.
func (t *Tail) update(f *tailFile, look tailLook, now time.Time) {
	size := look.info.Size()
	t.mu.Lock()
	f.path, f.order = look.path, tailOrderOf(look.path)
	f.blocked, f.goneSince = false, time.Time{}
	if size != f.size {
		f.grow(size, now)
		f.grown, f.lookAgain = now, now.Add(t.set.SettleTime)
		t.lastGrowth = now
	}
	if f.lookFrom > f.read && now.After(f.lookAgain) {
		// The last line has no end. Perhaps a network file system showed zeros in its place; each
		// time it is looked for again after twice the time.
		f.lookFrom, f.lookAgain = f.read, now.Add(now.Sub(f.grown))
	}
	if size >= f.read {
		f.shrunkSince = time.Time{}
		t.mu.Unlock()
		return
	}
	if f.shrunkSince.IsZero() {
		f.shrunkSince = now
	}
	settled := now.Sub(f.shrunkSince) >= t.set.SettleTime
	read := f.read
	t.mu.Unlock()
	if !settled {
		return
	}
	// The same first line: what is left was read before. So it is after a machine has crashed and
	// lost the end of the file; reading all of it again would send a whole log twice.
	offset := t.lineEnd(look)
	t.mu.Lock()
	f.restart(offset)
	t.mu.Unlock()
	t.set.OnEvent(TailEvent{Kind: TailTruncated, Path: look.path, Offset: offset, Bytes: read - offset})
}

// missing notes that a file is nowhere. A rename during a look can hide it for a moment.
func (t *Tail) missing(f *tailFile, now time.Time) {
	t.mu.Lock()
	if f.goneSince.IsZero() {
		f.goneSince = now
	}
	unsaved := f.delivered != f.saved && t.places.dir != "" && !t.unwritable
	if now.Sub(f.goneSince) < t.set.SettleTime || len(f.handedOut) > 0 || unsaved {
		t.mu.Unlock()
		return
	}
	delete(t.files, f.fingerprint)
	f.unfollow(t.reader)
	lost := max(0, f.size-f.read)
	if f.lookFrom >= f.size {
		lost = 0 // no whole line was in it
	}
	t.mu.Unlock()
	t.set.OnEvent(TailEvent{Kind: TailVanished, Path: f.path, Offset: f.read, Bytes: lost})
}

// sortLogs puts the files that are there in the order in which they are read, which ends a look.
func (t *Tail) sortLogs(lookBegan time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lastLook = lookBegan
	files := slices.Collect(maps.Values(t.files))
	files = slices.DeleteFunc(files, func(f *tailFile) bool { return !f.goneSince.IsZero() })
	slices.SortFunc(files, func(a, b *tailFile) int { return a.order.compare(b.order) })
	t.logs = nil
	for i, f := range files {
		if i == 0 || files[i-1].order.log != f.order.log {
			t.logs = append(t.logs, nil)
		}
		last := len(t.logs) - 1
		t.logs[last] = append(t.logs[last], f)
	}
}
