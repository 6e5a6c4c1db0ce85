package tracefile

import (
	"cmp"
	"container/list"
	"context"
	"os"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

const (
	// DefaultMaxOpenFiles is how many files of runs are open at once.
	DefaultMaxOpenFiles = 256

	// idleClose is how long a file stays open that nothing is written to: an open one costs two
	// goroutines and four looks a second.
	idleClose = 30 * time.Second

	// maxLeft bounds what is remembered of closed files, 100 bytes each: one that is forgotten costs
	// an fsync more when it is opened again.
	maxLeft = 1 << 16
)

// FilesOptions are those of Files. Path of the Options is not used.
type FilesOptions struct {
	// Options of each file. The retry window is one for all of them.
	Options

	// Template says which file lines belong to.
	Template *PathTemplate

	// MaxOpen bounds the files that are open at once where the template has placeholders; those that
	// were not used for longest are closed first. 0: DefaultMaxOpenFiles.
	MaxOpen int

	// Retention says what is deleted. The zero Retention deletes nothing.
	Retention Retention

	// What tests change.
	idleClose, minFreeEvery, retainEvery time.Duration
}

// Files is the one writer of the trace files that a template names: an Appender for each of those that
// are written to now. Its methods may be called concurrently.
type Files struct {
	opts     FilesOptions
	template *PathTemplate // of absolute paths
	obs      Observer
	root     string // the folder of all files
	health   *filesHealth
	window   *window
	key      string // by what the root is claimed
	owner    *owner
	lock     *fileLock
	rootDir  *os.File      // open from the start, so that no error of the volume is missed
	alone    *Appender     // the only file, where there are no placeholders
	rotated  chan struct{} // gets something when a segment was closed
	full     chan struct{} // gets something when a write found no space

	open  context.Context // until Close
	close context.CancelFunc
	tasks sync.WaitGroup // what looks after locks, idle files and retention

	mu                  sync.Mutex
	files               map[string]*openFile // by path
	used                *list.List           // of *openFile, the last used in front
	opened              int                  // slots that are taken
	closing             map[*openFile]bool
	waiting             int
	freed               chan struct{}           // closed when something changed that somebody waits for
	left                map[string]fileState    // by path
	unsynced            map[string]unsyncedFile // closed files, by path
	unsyncedLines, turn int
	locked              error // why nothing may be written
	closed              bool
}

// OpenFiles takes the lock: that of the file, or .runspan.lock in the folder before the first
// placeholder. A file without placeholders is there when it returns.
func OpenFiles(ctx context.Context, opts FilesOptions) (*Files, error) {
	opts.setDefaults()
	if opts.MaxOpen == 0 {
		opts.MaxOpen = DefaultMaxOpenFiles
	}
	if opts.Retention.RunIdle == 0 {
		opts.Retention.RunIdle = DefaultRunIdle
	}
	// The file of an idle run is deleted when it is closed.
	opts.idleClose = cmp.Or(opts.idleClose, min(idleClose, opts.Retention.RunIdle/2))
	opts.minFreeEvery = cmp.Or(opts.minFreeEvery, minFreeEvery)
	opts.retainEvery = cmp.Or(opts.retainEvery, retainEvery)
	rotated := make(chan struct{}, 1)
	opts.Observer = rotationObserver{Observer: opts.Observer, rotated: rotated}
	template, err := opts.Template.abs()
	if err != nil {
		return nil, err
	}
	f := &Files{
		opts:     opts,
		template: template,
		obs:      opts.Observer,
		root:     template.Root(),
		health:   newFilesHealth(opts.Observer),
		window:   newWindow(opts.RetryLines, opts.RetryAge),
		files:    map[string]*openFile{},
		closing:  map[*openFile]bool{},
		used:     list.New(),
		freed:    make(chan struct{}),
		left:     map[string]fileState{},
		unsynced: map[string]unsyncedFile{},
		rotated:  rotated,
		full:     make(chan struct{}, 1),
	}
	f.open, f.close = context.WithCancel(context.WithoutCancel(ctx))
	if template.HasPlaceholders() {
		err = f.openRoot(ctx)
	} else {
		alone := opts.Options
		alone.Path = opts.Template.String()
		f.alone, err = Open(ctx, alone)
	}
	if err != nil {
		f.close()
		return nil, err
	}
	if f.alone == nil {
		f.tasks.Go(f.lookAfter)
	}
	if f.syncsTogether() {
		f.tasks.Go(f.syncRegularly)
	}
	if opts.Retention.enabled() {
		f.tasks.Go(f.retain)
	}
	return f, nil
}

// rotationObserver wakes retention when a segment was closed.
type rotationObserver struct {
	Observer
	rotated chan struct{}
}

func (o rotationObserver) Rotated(segment string, bytes int64) {
	o.Observer.Rotated(segment, bytes)
	poke(o.rotated)
}

// Append writes lines to the file of these values, which is opened if it is not open, with the promises
// of Appender.Append. Which of the values matter is up to the template.
//
// It fails with ErrLoop where the lines come from a reader of that file.
func (f *Files) Append(ctx context.Context, values PathValues, lines ...[]byte) (int, error) {
	return f.with(ctx, values, func(a *Appender) (int, error) { return a.Append(ctx, lines...) })
}

// AppendOf is Append with the promises of Appender.AppendOf.
func (f *Files) AppendOf(ctx context.Context, values PathValues, td ptrace.Traces, e *Encoder, lines ...[]byte) (int, error) {
	return f.with(ctx, values, func(a *Appender) (int, error) { return a.AppendOf(ctx, td, e, lines...) })
}

func (f *Files) with(ctx context.Context, values PathValues, write func(*Appender) (int, error)) (int, error) {
	n, err := f.writeTo(ctx, values, write)
	if err != nil && Reason(err) == ReasonNoSpace {
		poke(f.full)
	}
	return n, err
}

func (f *Files) writeTo(ctx context.Context, values PathValues, write func(*Appender) (int, error)) (int, error) {
	path := f.template.Expand(values)
	if err := CheckLoop(ctx, path); err != nil {
		return 0, err
	}
	if f.alone != nil {
		return write(f.alone)
	}
	file, err := f.acquire(ctx, path)
	if err != nil {
		return 0, err
	}
	defer f.release(file)
	return write(file.app)
}

// OpenCount returns how many files are open.
func (f *Files) OpenCount() int {
	if f.alone != nil {
		return 1
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.opened
}
