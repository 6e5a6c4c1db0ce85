package runindex

import (
	"fmt"
	"time"

	"github.com/runspan/runspan/internal/tracefile"
)

// restore begins with what the cache holds, as far as the files are still those that it tells about.
func (c *Catalogue) restore() {
	cached, known := openCache(c.opts.CacheDir, c.opts.Warn)
	c.cache = cached
	if known == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.traces.keepFresh(cached.db != nil)
		return
	}
	found, _ := c.findFiles(time.Now())
	var changed []*file
	for _, f := range known.files {
		why := "it is gone"
		if l := found[f.fingerprint]; l != nil {
			f.path, f.info, f.size = l.path, l.info, l.info.Size()
			why = f.differs()
		}
		if why != "" {
			changed = append(changed, f)
			c.opts.Warn(fmt.Sprintf("cache %s: %s: %s since it was read: it is read anew", cached.path, f.path, why))
		}
	}
	known.remove(changed...)
	c.mu.Lock()
	defer c.mu.Unlock()
	known.version = c.version + 1
	for _, r := range known.runs {
		r.version = known.version
	}
	c.state = *known
	c.traces.cached = cached.db != nil
}

// differs says what is different about a file than it was when the cache was written, "" where nothing is.
func (f *file) differs() string {
	if f.size < f.read {
		return "it has become shorter"
	}
	opened, err := openRegular(f.path)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = opened.Close() }() // it was only read
	if fingerprint, err := tracefile.Fingerprint(opened, true); err != nil || fingerprint != f.fingerprint {
		return "it is another one"
	}
	if ok, err := f.proof.holds(opened); err != nil || !ok || f.proof.At != f.read {
		return "it was changed"
	}
	return ""
}

func (c *Catalogue) closeCache() {
	c.save(time.Now(), true)
	c.cache.close()
}
