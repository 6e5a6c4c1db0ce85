package runindex

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/runspan/runspan/internal/tracefile"
)

// look is what one look at a path found.
type look struct {
	path        string
	fingerprint string // "" as long as there is no first line
	info        os.FileInfo
	since       time.Time // when a file without a first line was first seen
	err         error
}

// look finds the files and what became of those that were known, and returns those that are there.
func (c *Catalogue) look(now time.Time) []*file {
	found, apart := c.findFiles(now)
	c.mu.Lock()
	defer c.mu.Unlock()
	known := map[string]*file{}
	for _, f := range c.files {
		known[f.fingerprint] = f
	}
	for fingerprint, look := range found {
		f := known[fingerprint]
		if f == nil {
			f = &file{fingerprint: fingerprint, path: look.path, initial: look.info.Size()}
			c.addFile(f)
		}
		c.found(f, look, now)
	}
	var gone []*file
	for fingerprint, f := range known {
		if found[fingerprint] == nil && c.missing(f, now) {
			gone = append(gone, f)
		}
	}
	c.remove(gone...)
	if !slices.Equal(c.apart, apart) {
		c.apart = apart
		c.version++
	}
	if c.unsorted { // which takes 0.1 s for thousands of files
		slices.SortFunc(c.files, func(a, b *file) int { return tracefile.CompareFiles(a.path, b.path) })
		c.unsorted = false
	}
	present := slices.DeleteFunc(slices.Clone(c.files), func(f *file) bool { return !f.goneSince.IsZero() })
	c.hot = present
	if len(present) > mostHot {
		c.hot = slices.Clone(present)
		slices.SortStableFunc(c.hot, func(a, b *file) int { return b.grown.Compare(a.grown) })
		c.hot = c.hot[:mostHot]
	}
	return present
}

// quickLook looks at the files that grow. What is not as expected is left to the next look at all files,
// which comes at once then.
func (c *Catalogue) quickLook(now time.Time) {
	for _, f := range c.hot {
		l := c.lookAt(f.path, now, false)
		if l.err != nil || l.info == nil || l.fingerprint != f.fingerprint {
			c.nextLook = now
			continue
		}
		c.looks[f.path] = l
		c.mu.Lock()
		c.found(f, &l, now)
		c.mu.Unlock()
	}
}

// findFiles returns what the options name, by fingerprint, and the files that are not to be read. Two
// paths with the same first line are one file: it was renamed during the look, or is a copy.
func (c *Catalogue) findFiles(now time.Time) (found map[string]*look, apart []FileInfo) {
	cold := c.coldFiles()
	looks := map[string]look{}
	found = map[string]*look{}
	for _, pattern := range c.opts.Files {
		paths, _ := tracefile.Glob(pattern) // Open has refused bad patterns
		for _, path := range paths {
			if _, done := looks[path]; done {
				continue
			}
			l := c.lookAt(path, now, cold[path])
			if l.err != nil {
				apart = append(apart, FileInfo{Name: path, Problem: l.err.Error()})
				c.warnOnce(path, l.err.Error())
			} else {
				delete(c.told, path)
			}
			if l.info == nil {
				continue
			}
			looks[path] = l
			other := found[l.fingerprint]
			switch {
			case l.fingerprint == "":
				apart = append(apart, FileInfo{Name: path, Bytes: l.info.Size()})
			case other == nil:
				found[l.fingerprint] = &l
			case !os.SameFile(other.info, l.info):
				copied, of := l, *other
				if l.info.Size() > other.info.Size() {
					copied, of = of, copied
				}
				found[l.fingerprint] = &of
				problem := fmt.Sprintf("not read: it begins with the same line as %s, so that it is taken for a copy", of.path)
				apart = append(apart, FileInfo{Name: copied.path, Bytes: copied.info.Size(), Problem: problem})
			}
		}
	}
	c.looks = looks
	slices.SortFunc(apart, func(a, b FileInfo) int { return strings.Compare(a.Name, b.Name) })
	return found, apart
}

// coldFiles returns the files that have not grown lately.
func (c *Catalogue) coldFiles() map[string]bool {
	cold := map[string]bool{}
	if len(c.present) <= mostHot {
		return cold
	}
	for _, f := range c.present {
		cold[f.path] = true
	}
	for _, f := range c.hot {
		delete(cold, f.path)
	}
	return cold
}

func (c *Catalogue) warnOnce(path, problem string) {
	if !c.told[path] {
		c.told[path] = true
		c.opts.Warn(problem)
	}
}

// lookAt returns what is at a path; nothing where there is no plain file. The file is opened, not only
// asked for its state: that is when a network file system asks its server.
//
// Of a cold file the state is enough where nothing in it has changed: to open thousands takes as long as all
// else of a look.
func (c *Catalogue) lookAt(path string, now time.Time, cold bool) look {
	l := look{path: path}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return l
	}
	if err != nil {
		l.err = err
		return l
	}
	if last := c.looks[path]; cold && last.fingerprint != "" && os.SameFile(last.info, info) &&
		info.Size() == last.info.Size() && info.ModTime().Equal(last.info.ModTime()) {
		return last
	}
	f, err := openRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return l
	}
	if err != nil {
		l.err = err
		return l
	}
	defer func() { _ = f.Close() }() // it was only read
	if info, err = f.Stat(); err != nil {
		l.err = err
		return l
	}
	last, again := c.looks[path]
	again = again && os.SameFile(last.info, info)
	// Whether a file that only grew is another one shows when it is read.
	if again && last.fingerprint != "" && info.Size() >= last.info.Size() {
		l.fingerprint, l.info = last.fingerprint, info
		return l
	}
	l.since = now
	if again && !last.since.IsZero() {
		l.since = last.since
	}
	settled := now.Sub(l.since) >= c.settle || now.Sub(info.ModTime()) >= c.settle
	if l.fingerprint, l.err = tracefile.Fingerprint(f, settled); l.err == nil {
		l.info = info
	}
	return l
}

// found notes where a file is now and how large.
func (c *Catalogue) found(f *file, l *look, now time.Time) {
	size := l.info.Size()
	c.unsorted = c.unsorted || f.path != l.path
	if f.path != l.path || f.size != size || f.problem != "" {
		c.version++
	}
	if f.info != nil && (!os.SameFile(f.info, l.info) || size == f.size && !l.info.ModTime().Equal(f.info.ModTime())) {
		f.doubted = true
	}
	f.path, f.info = l.path, l.info
	f.blocked, f.goneSince, f.problem = false, time.Time{}, ""
	f.settle(size, now, c.settle)
	if size >= f.read {
		f.shrunkSince = time.Time{}
		return
	}
	if f.shrunkSince.IsZero() {
		f.shrunkSince = now
	}
	if now.Sub(f.shrunkSince) >= c.settle {
		c.opts.Warn(fmt.Sprintf("%s: it is shorter than what was read of it (%d bytes, not %d): reading it from its start",
			f.path, size, f.read))
		c.restart(f)
	}
}

// settle notes the size of the file.
func (f *file) settle(size int64, now time.Time, patience time.Duration) {
	if size != f.size {
		f.grown, f.lookAgain = now, now.Add(patience)
	}
	f.size = size
	if f.lookFrom > f.read && now.After(f.lookAgain) {
		// The last line has no end. Perhaps a network file system showed zeros in its place; each time it
		// is looked for again after twice the time.
		f.lookFrom, f.lookAgain = f.read, now.Add(now.Sub(f.grown))
	}
	switch {
	case now.Sub(f.info.ModTime()) >= patience:
		f.settled = size
	case f.seenAt.IsZero():
		f.seen, f.seenAt = size, now
	case now.Sub(f.seenAt) >= patience:
		f.settled, f.seen, f.seenAt = f.seen, size, now
	}
	f.settled = min(f.settled, size)
}

// restart makes a file be read from its start.
func (c *Catalogue) restart(f *file) {
	c.forget(f)
	c.begin(f) // places from before are those of another file
	f.shrunkSince, f.tornSince = time.Time{}, time.Time{}
}

// missing notes that a file is nowhere, and reports whether it is to be believed. A rename during a look can
// hide it for a moment.
func (c *Catalogue) missing(f *file, now time.Time) (gone bool) {
	if f.goneSince.IsZero() {
		f.goneSince = now
	}
	if now.Sub(f.goneSince) < c.settle {
		return false
	}
	c.opts.Warn(f.path + ": it is gone, and what it told with it")
	return true
}

// withoutFiles says why nothing is read. A file that is empty is all read.
func (c *Catalogue) withoutFiles() (State, string) {
	for _, f := range c.apart {
		if f.Problem == "" {
			return StateReady, ""
		}
	}
	if len(c.apart) > 0 {
		return StateWaiting, c.apart[0].Problem
	}
	return StateWaiting, "waiting for " + strings.Join(c.opts.Files, ", ")
}

// setState says how far the reading of the files is.
func (c *Catalogue) setState() {
	c.mu.Lock()
	defer c.mu.Unlock()
	stage, reason := StateReady, ""
	for _, f := range c.present {
		if f.unread() {
			stage, reason = StateReading, "reading "+f.path
			break
		}
	}
	if len(c.files) == 0 {
		stage, reason = c.withoutFiles()
	}
	if stage != c.stage || reason != c.reason {
		c.stage, c.reason = stage, reason
		c.version++
	}
}
