// Package tracefile is the trace file: one JSON object with a resourceSpans list a line, appended
// by one writer while any number of readers look. docs/file-format.md is what it promises them.
package tracefile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Durability says what an acknowledged line survives.
type Durability string

const (
	// DurabilityWrite acknowledges a line that is in the file: it survives the death of the
	// process, and after SyncInterval the death of the machine.
	DurabilityWrite Durability = "write"
	// DurabilitySync acknowledges a line that is on the disk: it survives the death of the machine.
	DurabilitySync Durability = "sync"
)

// checkEvery is how often the writer looks whether the file at its path is still the one it has
// open. The contract is a second; half of it leaves room for a slow stat.
const checkEvery = 500 * time.Millisecond

// Options of an Appender. Path, Durability and WriteTimeout must be given.
type Options struct {
	// Path of the live file.
	Path string
	// Durability of acknowledged lines.
	Durability Durability
	// SyncInterval is the time between background fsyncs with DurabilityWrite; 0 leaves it to the
	// kernel. DurabilitySync does not use it.
	SyncInterval time.Duration
	// WriteTimeout is how long a request waits for the disk before it fails with ErrHanging.
	WriteTimeout time.Duration
	// NoLock goes without the lock file, for file systems that have no locks.
	NoLock bool
	// LockTimeout is how long Open waits for another writer of the file to go away; 0 does not wait.
	LockTimeout time.Duration
	// CreateDirectory makes the folders of Path where they are missing.
	CreateDirectory bool
	// RetryLines is how many of the last written lines are remembered, so that a client's retry of
	// one is not written again; 0 remembers none. Each costs about 130 bytes of memory.
	RetryLines int
	// RetryAge is how long a line is remembered.
	RetryAge time.Duration
	// Rotation says when the file is closed as a segment; the zero Rotation never closes it.
	Rotation Rotation
	// Observer is told what happens; nil for nobody.
	Observer Observer

	// member is set for one of many files.
	member *member

	// What tests put between the writer and the disk.
	fs    fileSystem
	flock func(*os.File) error
}

// Appender is the one writer of a trace file. Its methods may be called concurrently.
//
// One goroutine writes and one syncs. Requests only ever wait for them, so a call into a kernel
// that does not come back holds up those two and no request longer than WriteTimeout.
type Appender struct {
	opts   Options
	fs     fileSystem
	obs    Observer
	window fileWindow
	owner  *owner
	recent *recentFile

	queue   queue
	writing stopwatch
	syncing stopwatch
	health  health

	open     context.Context // until Close
	close    context.CancelFunc
	syncStop chan struct{}
	syncDone chan struct{}
	syncWake chan struct{}
	stopped  chan struct{}
	stopErr  error // written before stopped is closed

	lock *fileLock // the writing goroutine's

	// syncMu is held during an fsync, and by whoever exchanges the file.
	syncMu sync.Mutex

	// mu guards what the two goroutines share. It is never held during a call into the kernel.
	mu       sync.Mutex
	file     file
	broken   error // why nothing may be written before a repair
	unsynced []writtenLine
	waiting  []*flight // written, their fsync is to come

	// folders whose entries are not known to be on the disk; guarded by syncMu
	folders []string

	// The writing goroutine's own.
	info       os.FileInfo // of file; nil when the next file at the path is another one
	end        int64       // of the last good line
	checkedEnd int64       // end when the path was last seen to lead to file
	pending    []byte      // the line whose write failed: some of it may be behind end
	rescue     []byte      // whole lines that were taken out and must come back
	opened     bool        // once at least
	lastRepair time.Time
	lastTry    error
	needs      int // bytes that did not fit when the disk was full
	rotating   rotating
	gone       bool // the path leads to the file no more
}

// writtenLine is a line behind the last successful fsync.
type writtenLine struct {
	key   lineKey
	start int64
	end   int64
}

// setDefaults fills in the observer that nobody asked for, and what only tests give.
func (o *Options) setDefaults() {
	if o.fs == nil {
		o.fs = osFileSystem{}
	}
	if o.flock == nil {
		o.flock = flockExclusive
	}
	if o.Observer == nil {
		o.Observer = nopObserver{}
	}
}

// Open takes the lock, opens the file (it is there when Open returns), and moves what a crash tore
// to its NAME.torn. It fails when the file cannot be had, with one exception: on a full disk it
// succeeds, and the Appender refuses lines until there is space.
func Open(ctx context.Context, opts Options) (*Appender, error) {
	opts.setDefaults()
	path, err := filepath.Abs(opts.Path)
	if err != nil {
		return nil, fmt.Errorf("path %q: %w", opts.Path, err)
	}
	opts.Path = path

	remembered := opts.member.sharedWindow()
	if remembered == nil {
		remembered = newWindow(opts.RetryLines, opts.RetryAge)
	}
	own, err := claim(ctx, path, opts.member.claimKey(path), opts.LockTimeout)
	if err != nil {
		return nil, err
	}
	a := &Appender{
		opts:     opts,
		fs:       opts.fs,
		obs:      opts.Observer,
		window:   remembered.of(path),
		owner:    own,
		recent:   recent.open(path),
		queue:    queue{wake: make(chan struct{}, 1)},
		syncStop: make(chan struct{}),
		syncDone: make(chan struct{}),
		syncWake: make(chan struct{}, 1),
		stopped:  make(chan struct{}),
	}
	if m := opts.member; m != nil {
		// A sync that has begun may still be reading the folders that the file had when it was closed.
		a.unsynced, a.folders = m.unsynced.lines, slices.Clone(m.unsynced.folders)
	}
	a.open, a.close = context.WithCancel(context.WithoutCancel(ctx))
	ready := make(chan error, 1)
	go a.writeLoop(ready)

	timeout := time.NewTimer(opts.LockTimeout + opts.WriteTimeout)
	defer timeout.Stop()
	select {
	case err = <-ready:
	case <-ctx.Done():
		err = ctx.Err()
	case <-timeout.C:
		err = fmt.Errorf("%s: opening it: %w", path, ErrHanging)
	}
	if err != nil {
		// The goroutine ends by itself, at the latest when the disk answers.
		a.startClosing()
		return nil, err
	}
	return a, nil
}

// Append writes lines, each with the newline that ends it, and returns when all of them are as
// durable as promised. Lines that were written before, within the bounds of Options, are not
// written again; a line that is being written for another request is waited for. It returns how
// many were written for this call.
//
// After an error lines must not be changed anymore: a write that hangs may still be reading them.
// Every error is worth a retry; Reason says in a word what it was.
func (a *Appender) Append(ctx context.Context, lines ...[]byte) (int, error) {
	return a.append(ctx, nil, lines)
}

// AppendOf is Append of the lines that e has made of td. Where a reader in this process follows the file
// and e was exact, it may get td itself, which is read-only from then on.
func (a *Appender) AppendOf(ctx context.Context, td ptrace.Traces, e *Encoder, lines ...[]byte) (int, error) {
	if !a.recent.followed.Load() || !e.Exact() {
		return a.append(ctx, nil, lines)
	}
	if !td.IsReadOnly() { // a fan-out has marked it before, and others may be reading the mark
		td.MarkReadOnly()
	}
	return a.append(ctx, &td, lines)
}

func (a *Appender) append(ctx context.Context, td *ptrace.Traces, lines [][]byte) (int, error) {
	if err := a.hanging(); err != nil {
		return 0, err
	}
	flights := make([]*flight, 0, len(lines))
	written, copies := 0, 0
	for _, line := range lines {
		if len(line) < 2 || line[len(line)-1] != '\n' {
			return 0, errors.New("a line of a trace file is not empty and ends with a newline")
		}
		f, how := a.window.join(line)
		switch how {
		case known:
			a.obs.Duplicate()
			continue
		case copied:
			copies++
		case fresh:
			written++
			f.td = td
			if !a.queue.put(f) {
				a.window.finish(f, fmt.Errorf("%s: %w", a.opts.Path, ErrClosed))
			}
		}
		flights = append(flights, f)
	}
	if err := a.wait(ctx, flights); err != nil {
		return 0, err
	}
	for range copies {
		a.obs.Duplicate()
	}
	return written, nil
}

// wait returns the first error among flights when all have ended, or why it waited no longer.
func (a *Appender) wait(ctx context.Context, flights []*flight) error {
	timeout := time.NewTimer(a.opts.WriteTimeout)
	defer timeout.Stop()
	var first error
	for i, f := range flights {
		select {
		case <-f.done:
			if first == nil {
				first = f.err
			}
		case <-ctx.Done():
			a.window.leave(flights[i:], ctx.Err())
			return ctx.Err()
		case <-timeout.C:
			err := fmt.Errorf("%s: no answer within %s (write_timeout): %w", a.opts.Path, a.opts.WriteTimeout, ErrHanging)
			a.window.leave(flights[i:], err)
			a.health.set(a.obs, err)
			return err
		}
	}
	return first
}

// Close writes what is waiting, syncs, closes the file and gives up the lock. It waits no longer
// than ctx and, when the disk hangs, no longer than WriteTimeout: it fails with ErrHanging then, and
// the rest happens when the disk answers.
func (a *Appender) Close(ctx context.Context) error {
	a.startClosing()
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		select {
		case <-a.stopped:
			return a.stopErr
		case <-ctx.Done():
			return fmt.Errorf("%s: closing it: %w", a.opts.Path, ctx.Err())
		case <-poll.C:
			if max(a.writing.running(), a.syncing.running()) > a.opts.WriteTimeout {
				return fmt.Errorf("%s: closing it: %w", a.opts.Path, ErrHanging)
			}
		}
	}
}

func (a *Appender) startClosing() {
	a.owner.leaving()
	a.close()
}

// hanging returns an error while a request could only wait for a disk that does not answer.
func (a *Appender) hanging() error {
	running := a.writing.running()
	if a.opts.Durability == DurabilitySync {
		running = max(running, a.syncing.running())
	}
	if running <= a.opts.WriteTimeout {
		return nil
	}
	return fmt.Errorf("%s: no answer for %s (write_timeout %s): %w",
		a.opts.Path, running.Round(time.Second), a.opts.WriteTimeout, ErrHanging)
}

// stopwatch tells how long a call into the kernel has been running.
type stopwatch struct{ since atomic.Int64 }

var epoch = time.Now()

func (s *stopwatch) start() { s.since.Store(int64(time.Since(epoch)) + 1) }
func (s *stopwatch) stop()  { s.since.Store(0) }

func (s *stopwatch) running() time.Duration {
	since := s.since.Load()
	if since == 0 {
		return 0
	}
	return time.Since(epoch) - time.Duration(since-1)
}
