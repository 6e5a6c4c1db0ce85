package runindex

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/runspan/runspan/internal/tracefile"
)

const (
	// readBytes is how much is read at a time.
	readBytes = 1 << 20
	// turnBytes is how much is read of one file before the next one has its turn.
	turnBytes = 64 << 20
	// maxLineBytes is the longest line that is read; a longer one is a bad line.
	maxLineBytes = tracefile.DefaultScanLineBytes
)

var errAnotherFile = errors.New("another file is at this path now")

// read reads new lines of a file, and reports whether there may be more. The file is opened anew and
// known again by its first line: it may have been renamed or replaced since the look.
func (c *Catalogue) read(ctx context.Context, f *file, now time.Time) (more bool) {
	if !f.unread() {
		return false
	}
	opened, err := openRegular(f.path)
	if err != nil {
		c.block(f, err)
		return false
	}
	defer func() { _ = opened.Close() }() // it was only read
	if err := c.verify(f, opened, now); err != nil {
		c.block(f, err)
		return false
	}
	for end := f.read + turnBytes; ctx.Err() == nil && f.unread() && f.read < end; {
		if err := c.readSome(f, opened); err != nil {
			c.block(f, err)
			return false
		}
	}
	if f.proof.At == f.read {
		return f.unread()
	}
	proof := f.proof.clone()
	if err := proof.extend(opened, f.read); err != nil {
		c.block(f, err)
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	f.proof = proof
	return f.unread()
}

// block keeps a file from being read before the next look, and has the look know it anew.
func (c *Catalogue) block(f *file, err error) {
	delete(c.looks, f.path)
	c.mu.Lock()
	defer c.mu.Unlock()
	f.blocked = true
	if errors.Is(err, errAnotherFile) || errors.Is(err, os.ErrNotExist) {
		return
	}
	f.problem = err.Error()
	c.version++
	c.warnOnce(f.path, f.problem)
}

// verify finds out whether an opened file is the one that was read so far. What was read last proves it; the
// first line, up to 64 KiB of it, is compared where that does not.
func (c *Catalogue) verify(f *file, opened *os.File, now time.Time) error {
	if f.proof.At == 0 || f.doubted {
		if err := f.sameFirstLine(opened); err != nil {
			return err
		}
	}
	compare := f.proof.tailHolds
	if f.doubted {
		compare = f.proof.holds
	}
	ok, err := compare(opened)
	if err != nil {
		return err
	}
	if ok {
		f.tornSince, f.doubted = time.Time{}, false
		return nil
	}
	if err := f.sameFirstLine(opened); err != nil {
		return err
	}
	if info, err := opened.Stat(); err != nil || info.Size() < f.read {
		return errors.Join(errAnotherFile, err) // shorter: the next look says what became of it
	}
	// The first line is the same and the rest is not: somebody has written the file anew. Or it is a page
	// that the file system does not have yet.
	if f.tornSince.IsZero() {
		f.tornSince = now
	}
	if now.Sub(f.tornSince) < c.settle {
		return errAnotherFile
	}
	c.opts.Warn(f.path + ": what was read of it is not what it holds now: reading it from its start")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.restart(f)
	return nil
}

func (f *file) sameFirstLine(opened *os.File) error {
	fingerprint, err := tracefile.Fingerprint(opened, true)
	if err == nil && fingerprint != f.fingerprint {
		err = errAnotherFile
	}
	return err
}

// readSome reads the next lines.
func (c *Catalogue) readSome(f *file, opened io.ReaderAt) error {
	if c.buffer == nil {
		c.buffer = make([]byte, readBytes, readBytes+slackBehind)
	}
	data, end, err := tracefile.CutLines(opened, f.read, f.lookFrom, f.size, c.buffer, maxLineBytes)
	if err != nil {
		return fmt.Errorf("%s: reading at byte %d: %w", f.path, f.read, err)
	}
	switch {
	case end == 0:
		c.mu.Lock()
		defer c.mu.Unlock()
		f.lookFrom = f.size
		return nil
	case data == nil:
		c.addBad(f, end-f.read, &tracefile.BadLineError{Reason: tracefile.BadTooLong})
		return nil
	}
	for len(data) > 0 {
		n := bytes.IndexByte(data, '\n') + 1
		facts, bad := c.facts.Read(data[:n-1])
		switch {
		case bad == nil:
			c.addLine(f, int64(n), facts)
		case f.read+int64(n) > f.settled && mayHeal(bad):
			// A network file system may show zeros for a page that it does not have yet: it is read again.
			c.mu.Lock()
			defer c.mu.Unlock()
			f.blocked = true
			return nil
		default:
			c.addBad(f, int64(n), bad)
		}
		data = data[n:]
	}
	return nil
}

// mayHeal reports whether another look could help: JSON of another kind stays what it is.
func mayHeal(bad *tracefile.BadLineError) bool {
	switch bad.Reason {
	case tracefile.BadNotJSON, tracefile.BadNotUTF8, tracefile.BadSeveral:
		return true
	}
	return false
}

func (c *Catalogue) addLine(f *file, size int64, facts *tracefile.Facts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(f, f.read, size, facts, time.Now())
	f.stepOver(size)
}

func (c *Catalogue) addBad(f *file, size int64, bad *tracefile.BadLineError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	if f.badLines++; len(f.bad) < mostBadLines {
		f.bad = append(f.bad, BadLine{Offset: f.read, Bytes: size, Reason: bad.Error()})
	}
	f.stepOver(size)
}

func (f *file) stepOver(size int64) {
	f.read += size
	f.lookFrom = f.read
}
