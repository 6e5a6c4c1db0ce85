package runindex

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/runspan/runspan/internal/tracefile"
)

// DefaultPoll is the time between two looks at the files where Options name none.
const DefaultPoll = 200 * time.Millisecond

const (
	// quickLooks is how many looks at the files that grow there are for one at all files.
	quickLooks = 4
	// lookShare: a look at all files that takes 1 ms comes again after 20 ms at the earliest, so that ten
	// thousand files take a twentieth of a core, not all of it.
	lookShare = 20
	// mostHot is how many files are looked at in between. Where there are no more, all are.
	mostHot = 64
)

// Options are the settings of a Catalogue.
type Options struct {
	// Files are paths or patterns of path/filepath.Match. The closed segments of the logs that they name
	// are read too. What is not there yet is waited for. At least one.
	Files []string
	// CacheDir is the folder of the cache that spares a restart the reading of what was read. Empty: none.
	CacheDir string
	// Poll is the time between two looks at all files; at those that grow there are four in that time. It
	// is longer where there are so many files that it would take more than a twentieth of a core. Zero
	// means DefaultPoll.
	Poll time.Duration
	// Warn is told, in one line each, what a person should know: a file that was replaced, a cache that
	// was made anew. It may be nil. It must not call the Catalogue.
	Warn func(string)
}

// Catalogue knows the runs in a set of growing files. Its methods may be called from any goroutine.
type Catalogue struct {
	opts Options

	// Of the goroutine that calls Run.
	looks    map[string]look // by path
	nextLook time.Time       // at all files
	present  []*file         // that were there at the last one
	hot      []*file         // those of them that are looked at in between
	facts    tracefile.FactsReader
	buffer   []byte
	told     map[string]bool // problems by path
	// settle is how long something that a network file system may show for a moment must last before it
	// is believed: a shorter file, a missing one, a line that is no JSON.
	settle time.Duration
	cache  *cache // nil: none

	mu sync.Mutex // guards everything below
	state
	snapshot *Snapshot // of the last version that was asked for
	handles  map[uint32]*handle
}

// Open returns a catalogue of nothing: Run fills it, from the cache and then from the files. The error is
// one of the options.
func Open(opts Options) (*Catalogue, error) {
	if len(opts.Files) == 0 {
		return nil, errors.New("files: name at least one file or pattern")
	}
	for _, pattern := range opts.Files {
		if _, err := filepath.Match(pattern, ""); err != nil || pattern == "" {
			return nil, fmt.Errorf("files: %q is no pattern of files: a [ needs a ], and a \\ something behind it", pattern)
		}
	}
	if opts.Poll < 0 {
		return nil, fmt.Errorf("poll: %v: must not be negative", opts.Poll)
	}
	if opts.Poll == 0 {
		opts.Poll = DefaultPoll
	}
	if opts.Warn == nil {
		opts.Warn = func(string) {}
	}
	return &Catalogue{
		opts:    opts,
		looks:   map[string]look{},
		told:    map[string]bool{},
		settle:  settleTime,
		state:   newState(),
		handles: map[uint32]*handle{},
	}, nil
}

// settleTime is that of a reader of the files, docs/file-format.md.
const settleTime = 3 * time.Second

// Run keeps the catalogue up to date until ctx ends. It is called once.
func (c *Catalogue) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	if c.opts.CacheDir != "" {
		c.restore()
		defer c.closeCache()
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		next := c.update(ctx)
		c.save(time.Now(), false)
		c.closeHandles(time.Now().Add(-handleAge))
		timer.Reset(time.Until(next))
	}
}

// Close gives back what the catalogue holds. Run must be over.
func (c *Catalogue) Close() error {
	c.closeHandles(time.Now())
	return nil
}

// update looks at the files and reads what is new, and returns when to do so again.
func (c *Catalogue) update(ctx context.Context) time.Time {
	started := time.Now()
	if started.Before(c.nextLook) {
		c.quickLook(started)
	} else {
		c.present = c.look(started)
		c.nextLook = started.Add(max(c.opts.Poll, lookShare*time.Since(started)))
	}
	for more := true; more && ctx.Err() == nil; {
		more = false
		for _, f := range c.present {
			more = c.read(ctx, f, started) || more
		}
		// What takes long must not keep new files from being seen.
		if time.Since(started) > time.Second {
			break
		}
	}
	c.setState()
	return started.Add(c.opts.Poll / quickLooks)
}
