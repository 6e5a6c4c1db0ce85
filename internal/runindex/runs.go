package runindex

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	// DefaultMaxMemory is what all opened runs may take together: 256 MiB, about three million spans.
	DefaultMaxMemory = 256 << 20

	// DefaultMaxTraceSpans is how many spans of a trace are answered at once.
	DefaultMaxTraceSpans = 200_000

	// openPatience is how long a request waits for the lines of a run that is being read. What is not
	// there by then is read by the next request: the answer says how far it is.
	openPatience = 2 * time.Second

	// openInUse is some polls of a page that shows a run.
	openInUse = 15 * time.Second
)

// Source is what runs are read from: a [Catalogue].
type Source interface {
	Snapshot() *Snapshot
	Lines(run string, after Mark) (lines []LineRef, mark Mark, reset bool)
	ReadLine(ref LineRef, buf []byte) ([]byte, error)
	RunsOfTrace(id [16]byte) []string
}

// RunsOptions are the settings of Runs. The zero value is ready for use.
type RunsOptions struct {
	// MaxMemory is what all opened runs may take together, in bytes. Zero means DefaultMaxMemory.
	MaxMemory int64
	// MaxTraceSpans is how many spans of a trace Trace returns. Zero means DefaultMaxTraceSpans.
	MaxTraceSpans int
	// InUse is how long after its last use a run is not closed. Zero means 15 seconds.
	InUse time.Duration
	// Patience is how long Open waits for a run that is being read. Zero means two seconds.
	Patience time.Duration
	// Warn is told of files that cannot be read; nil drops it.
	Warn func(string)
}

// Runs opens runs: it keeps several in memory, and closes those least used where they take too much.
type Runs struct {
	source Source
	opts   RunsOptions
	// readers bounds the cores that read lines, so that the writer of the same process has the others.
	readers chan struct{}
	noRun   noRunIndex

	mu         sync.Mutex
	open       map[string]*openEntry
	memory     int64 // of all that are open
	generation uint64
}

type openEntry struct {
	run   *OpenedRun
	used  time.Time
	bytes int64
}

// NewRuns returns the runs of a source, none of them open.
func NewRuns(source Source, opts RunsOptions) *Runs {
	opts.MaxMemory = cmp.Or(opts.MaxMemory, DefaultMaxMemory)
	opts.MaxTraceSpans = cmp.Or(opts.MaxTraceSpans, DefaultMaxTraceSpans)
	opts.InUse = cmp.Or(opts.InUse, openInUse)
	if opts.Warn == nil {
		opts.Warn = func(string) {}
	}
	opts.Patience = cmp.Or(opts.Patience, openPatience)
	return &Runs{
		source:  source,
		opts:    opts,
		readers: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
		open:    map[string]*openEntry{},
	}
}

// Open returns a run as the files have it now, or as much of it as could be read within the patience
// or the memory: partial says why, nil where it is all. A run that no line names is an empty one. The
// error is that of ctx.
func (r *Runs) Open(ctx context.Context, id string) (run *OpenedRun, partial *Partial, err error) {
	run = r.take(id)
	reason, err := run.catchUp(ctx)
	if err != nil {
		return nil, nil, err
	}
	return run, run.partial(reason), nil
}

// Memory returns how many runs are open and what they take, in bytes.
func (r *Runs) Memory() (opened int, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.open), r.memory + r.noRun.bytes.Load()
}

// MaxMemory returns the limit of the memory, in bytes.
func (r *Runs) MaxMemory() int64 { return r.opts.MaxMemory }

func (r *Runs) take(id string) *OpenedRun {
	r.mu.Lock()
	defer r.mu.Unlock()
	entry := r.open[id]
	if entry == nil {
		r.generation++
		entry = &openEntry{run: &OpenedRun{
			runs: r, id: id, generation: r.generation, loading: make(chan struct{}, 1), columns: newColumns(),
		}}
		r.open[id] = entry
	}
	entry.used = time.Now()
	return entry.run
}

// charge notes what a run takes now, and closes others, the least used first, where all of them take
// too much. It reports whether the run may take more. Runs that somebody looks at stay: two large ones
// would close each other for ever.
func (r *Runs) charge(run *OpenedRun, bytes int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	most := r.opts.MaxMemory - r.noRun.bytes.Load()
	entry := r.open[run.id]
	if entry == nil || entry.run != run {
		return bytes < most // closed by now: it lives as long as those who ask it
	}
	r.memory += bytes - entry.bytes
	entry.bytes = bytes
	if r.memory <= most {
		return true
	}
	var idle []*openEntry
	for _, other := range r.open {
		if other != entry && time.Since(other.used) > r.opts.InUse {
			idle = append(idle, other)
		}
	}
	slices.SortFunc(idle, func(a, b *openEntry) int { return a.used.Compare(b.used) })
	for _, other := range idle {
		if r.memory <= most {
			break
		}
		delete(r.open, other.run.id)
		r.memory -= other.bytes
	}
	return r.memory <= most
}

// Empty returns a run without spans, for one that the files do not have yet.
func (r *Runs) Empty(id string) *OpenedRun {
	return &OpenedRun{runs: r, id: id, loading: make(chan struct{}, 1), columns: newColumns()}
}
