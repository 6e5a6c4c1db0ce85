package runindex

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// cache keeps a catalogue on the disk, in a bbolt file. Nothing in it is believed that its checksum does
// not prove, and a file that it tells about is compared with the one that is there now
// (docs/adr/0014-cache-of-the-catalogue.md). A cache that cannot be used costs time and no more.
type cache struct {
	path string
	warn func(string)
	db   *bbolt.DB // nil: it cannot be written to, or is not open
	// left: bbolt has panicked, perhaps with a lock of its own held: it is left alone.
	left bool

	saved cacheSaved
}

const (
	cacheName = "catalogue.db"

	// cacheLockPatience is how long another process that has the cache is waited for.
	cacheLockPatience = 100 * time.Millisecond

	// mostCacheBytes bounds the cache that is copied, to read one that another process writes.
	mostCacheBytes = 4 << 30
)

var errCacheDamaged = errors.New("it is damaged")

// openCache opens the cache in a folder and returns what it holds: nil where that is nothing. Where the
// cache is another process's it is read, and nothing is written.
func openCache(dir string, warn func(string)) (*cache, *state) {
	c := &cache{path: filepath.Join(dir, cacheName), warn: warn}
	var known *state
	err := c.guarded(func() (err error) {
		if err = os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		known, err = c.open()
		return err
	})
	switch {
	case err == nil:
	case errors.Is(err, berrors.ErrTimeout):
		if known, err = c.readCopy(dir); err != nil {
			warn(fmt.Sprintf("cache %s: another process has it, and a copy cannot be read (%v): reading the files anew", c.path, err))
		}
	case errors.Is(err, errCacheDamaged):
		warn(fmt.Sprintf("cache %s: %v: making it anew", c.path, err))
		known = nil
		if err := c.guarded(c.makeAnew); err != nil {
			warn(fmt.Sprintf("cache %s: %v: going on without", c.path, err))
		}
	default:
		warn(fmt.Sprintf("cache %s: %v: going on without", c.path, err))
	}
	return c, known
}

// guarded calls do, and makes an error of what bbolt does about a damaged file: it panics, or reads memory
// that is mapped behind the file's end.
func (c *cache) guarded(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			c.left = true
			err = fmt.Errorf("%w: %v", errCacheDamaged, r)
		}
	}()
	return do()
}

// open opens the file to write to it, and loads what it holds.
func (c *cache) open() (*state, error) {
	if err := checkPages(c.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	db, err := bbolt.Open(c.path, 0o600, &bbolt.Options{Timeout: cacheLockPatience, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return nil, damaged(err)
	}
	c.db = db
	known, err := c.load(db)
	if err != nil {
		c.close()
	}
	return known, err
}

// damaged tells the errors of bbolt that are about the content of the file.
func damaged(err error) error {
	for _, of := range []error{berrors.ErrInvalid, berrors.ErrVersionMismatch, berrors.ErrChecksum} {
		if errors.Is(err, of) {
			return fmt.Errorf("%w: %w", errCacheDamaged, err)
		}
	}
	return err
}

// makeAnew begins an empty cache.
func (c *cache) makeAnew() error {
	c.close()
	c.saved = cacheSaved{}
	if err := os.Remove(c.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	db, err := bbolt.Open(c.path, 0o600, &bbolt.Options{Timeout: cacheLockPatience, FreelistType: bbolt.FreelistMapType})
	if err == nil {
		c.db = db
	}
	return err
}

func (c *cache) close() {
	if c.db == nil {
		return
	}
	db := c.db
	c.db = nil
	if c.left {
		c.left = false
		return
	}
	if err := c.guarded(db.Close); err != nil {
		c.warn(fmt.Sprintf("cache %s: %v", c.path, err))
	}
}

// readCopy loads a cache that another process is writing: bbolt would wait for its lock for ever. What a
// write in between has torn shows in a checksum.
func (c *cache) readCopy(dir string) (known *state, err error) {
	temp, err := os.CreateTemp(dir, cacheName+".copy-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(temp.Name()) }() // it is empty, or a copy
	err = copyCache(temp, c.path)
	if err = errors.Join(err, temp.Close()); err != nil {
		return nil, err
	}
	err = c.guarded(func() error {
		if err := checkPages(temp.Name()); err != nil {
			return err
		}
		db, err := bbolt.Open(temp.Name(), 0o600, &bbolt.Options{Timeout: cacheLockPatience, ReadOnly: true})
		if err != nil {
			return err
		}
		known, err = c.load(db)
		return errors.Join(err, db.Close())
	})
	c.saved = cacheSaved{}
	return known, err
}

func copyCache(to *os.File, path string) error {
	from, err := openRegular(path)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // it was only read
	info, err := from.Stat()
	if err != nil {
		return err
	}
	if info.Size() > mostCacheBytes {
		return fmt.Errorf("it is %d bytes large", info.Size())
	}
	_, err = to.ReadFrom(from)
	return err
}
