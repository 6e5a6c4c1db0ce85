package runindex

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/runspan/runspan/internal/tracefile"
)

// handleAge is how long a file stays open for the lines of a run: each of them would open it anew. It
// is short, because an open file that was deleted takes room on the disk.
const handleAge = time.Second

// handle is a file that is open for ReadLine. Both fields are guarded by Catalogue.mu.
type handle struct {
	file   *os.File
	opened time.Time
	users  int
	old    bool // to be closed by its last user
}

// slackBehind is what [tracefile.Decoder] wants to be readable behind a line.
const slackBehind = 16

// ReadLine appends a line without its newline to buf, which should be reused. Its capacity goes on
// behind it, so that it is decoded without a copy. The error is ErrGone, or one of reading.
func (c *Catalogue) ReadLine(ref LineRef, buf []byte) ([]byte, error) {
	h, err := c.openHandle(ref.id)
	if err != nil {
		return nil, err
	}
	defer c.doneWith(h)
	at := len(buf)
	buf = slices.Grow(buf, int(ref.Bytes)+slackBehind)[:at+int(ref.Bytes)]
	if _, err := h.file.ReadAt(buf[at:], ref.Offset); err != nil {
		if errors.Is(err, io.EOF) {
			err = ErrGone
		}
		return nil, fmt.Errorf("%s at byte %d: %w", ref.File, ref.Offset, err)
	}
	if buf[len(buf)-1] != '\n' {
		return nil, fmt.Errorf("%s at byte %d: %w", ref.File, ref.Offset, ErrGone)
	}
	return buf[:len(buf)-1], nil
}

// openHandle returns the file with an id, open, and known to be the one that was read. Nothing waits for
// the file system with the lock held: a network file system may hang.
func (c *Catalogue) openHandle(id uint32) (*handle, error) {
	c.mu.Lock()
	f := c.ids[id]
	h := c.handles[id]
	if f != nil && h != nil && time.Since(h.opened) < handleAge {
		h.users++
		c.mu.Unlock()
		return h, nil
	}
	var path, fingerprint string
	if f != nil {
		path, fingerprint = f.path, f.fingerprint
	}
	c.mu.Unlock()
	if f == nil {
		return nil, ErrGone
	}
	opened, err := openRegular(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", path, ErrGone)
	}
	if err != nil {
		return nil, err
	}
	if now, err := tracefile.Fingerprint(opened, true); err != nil || now != fingerprint {
		_ = opened.Close() // it was only read
		return nil, errors.Join(fmt.Errorf("%s: %w", path, ErrGone), err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.handles[id]; h != nil {
		h.retire()
	}
	h = &handle{file: opened, opened: time.Now(), users: 1}
	c.handles[id] = h
	return h, nil
}

func (c *Catalogue) doneWith(h *handle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h.users--
	if h.users == 0 && h.old {
		_ = h.file.Close() // it was only read
	}
}

// retire closes a handle now or after its last user.
func (h *handle) retire() {
	h.old = true
	if h.users == 0 {
		_ = h.file.Close() // it was only read
	}
}

// closeHandles closes what was opened before a time.
func (c *Catalogue) closeHandles(before time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, h := range c.handles {
		if h.opened.Before(before) {
			delete(c.handles, id)
			h.retire()
		}
	}
}
