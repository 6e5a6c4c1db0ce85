package tracefile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// TailSettings say what a Tail reads and how.
type TailSettings struct {
	// Name tells the places of this reader from those of others in the same folder.
	Name string
	// Include are the files, as patterns of path/filepath.Match. The segments of a log that they
	// name are read too, before its live file.
	Include []string
	// StartAtEnd makes reading begin at the end of the files that are there at the first look and
	// have no place. Files that appear later are read from their beginning.
	StartAtEnd bool
	// Places is the folder of the places. Empty: in memory only.
	Places string
	// MaxBatchBytes bounds a batch, except one of a single longer line. Default: 2 MiB.
	MaxBatchBytes int64
	// MaxLineBytes bounds a line and with it the memory of a batch; longer lines are stepped over.
	// Default: 64 MiB.
	MaxLineBytes int64
	// PollInterval is the time between two looks at the files. Default: 100 ms.
	PollInterval time.Duration
	// SaveInterval is the time between two writes of a place. Default: 1 s.
	SaveInterval time.Duration
	// SettleTime is how long something that a network file system may show for a moment (a shorter
	// file, a missing one, zeros instead of a line end) must last before it is believed. Default: 2 s.
	SettleTime time.Duration
	// OnEvent is told what happens, from several goroutines. Default: nobody.
	OnEvent func(TailEvent)
}

// Tail reads the whole lines of a set of growing files and knows which of them were delivered. Next
// is for one goroutine; everything else may be called from any.
type Tail struct {
	set    TailSettings
	places tailPlaces

	// Of the goroutine that calls Next.
	looks     map[string]tailLook // by path
	rotation  int
	nextLook  time.Time
	soonest   time.Time // when a look costs no more than its share
	nextPrune time.Time
	looked    bool
	told      map[string]bool // what was said to fail

	mu         sync.Mutex
	files      map[string]*tailFile // by fingerprint
	logs       [][]*tailFile        // those that are there, a log each, in their order
	lastGrowth time.Time            // the beginning of the look that saw it
	lastLook   time.Time            // the beginning of the last one that is over
	unwritable bool

	buffers sync.Pool // of *[]byte, each MaxBatchBytes long
	reader  *recentReader

	saveMu  sync.Mutex
	stop    chan struct{}
	stopped sync.WaitGroup
}

// NewTail returns a Tail that reads nothing before the first Next. Close ends it.
func NewTail(set TailSettings) *Tail {
	set.MaxBatchBytes = tailDefault(set.MaxBatchBytes, 2<<20)
	set.MaxLineBytes = max(set.MaxBatchBytes, tailDefault(set.MaxLineBytes, 64<<20))
	set.PollInterval = tailDefault(set.PollInterval, 100*time.Millisecond)
	set.SaveInterval = tailDefault(set.SaveInterval, time.Second)
	set.SettleTime = tailDefault(set.SettleTime, 2*time.Second)
	if set.OnEvent == nil {
		set.OnEvent = func(TailEvent) {}
	}
	t := &Tail{
		set:    set,
		places: tailPlaces{dir: set.Places, reader: set.Name},
		looks:  map[string]tailLook{},
		files:  map[string]*tailFile{},
		told:   map[string]bool{},
		reader: &recentReader{wake: make(chan struct{}, 1)},
		stop:   make(chan struct{}),
	}
	t.stopped.Go(t.saveRegularly)
	t.register()
	return t
}

func tailDefault[T int64 | time.Duration](value, byDefault T) T {
	if value == 0 {
		return byDefault
	}
	return value
}

// TailBatch is a number of whole lines of one file: their bytes, or the traces that a writer in this
// process has made them of.
type TailBatch struct {
	Path  string
	Start int64 // offset of the first byte
	End   int64 // offset after the last one
	Data  []byte
	// Traces are shared with other readers, and so read-only. There are either these or Data.
	Traces []ptrace.Traces

	buffer *[]byte // around Data, nil where it is not one of the tail's
	tail   *Tail
	file   *tailFile
	place  *tailRange
}

// Release gives the memory of Data and Traces back, which are nil from here on. Clearing 2 MiB anew
// for each batch took 6 % of the whole collector's time.
func (b *TailBatch) Release() {
	if b.buffer != nil {
		b.tail.buffers.Put(b.buffer)
	}
	releaseTraces(b.Traces)
	b.Data, b.buffer, b.Traces = nil, nil, nil
}

// Delivered says that the batch needs not be read again. It may be called in any order.
func (b *TailBatch) Delivered() {
	b.tail.mu.Lock()
	defer b.tail.mu.Unlock()
	b.file.done(b.place)
}

// ReadAgain returns the bytes [from, to) of the batch as a newly opened file has them now: network
// file systems can show a page before they have it. The error is one of the file system.
func (b *TailBatch) ReadAgain(from, to int64) ([]byte, error) {
	b.tail.mu.Lock()
	path := b.file.path // it may have been renamed since
	b.tail.mu.Unlock()
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	if fingerprint, err := tailFingerprint(f); err != nil || fingerprint != b.file.fingerprint {
		return nil, errors.Join(errTailAnotherFile, err)
	}
	data := make([]byte, to-from)
	_, err = f.ReadAt(data, b.Start+from)
	return data, err
}

// Begin takes the first look at the files, which Next does otherwise: with StartAtEnd, what is written to
// them from here on is read. It is for the goroutine that calls Next.
func (t *Tail) Begin() { t.look() }

// Next returns the next batch, in the order of the lines of a log; logs take turns. It waits until
// there is one, and returns the error of ctx when that ends first.
func (t *Tail) Next(ctx context.Context) (*TailBatch, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if wait := time.Until(t.nextLook); wait <= 0 {
			t.look()
		}
		if batch := t.nextBatch(); batch != nil {
			return batch, nil
		}
		timer := time.NewTimer(time.Until(t.nextLook))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-t.reader.wake:
			timer.Stop()
			t.nextLook = t.soonest
		case <-timer.C:
		}
	}
}

// nextBatch reads from the first file with something to read of each log in turn.
func (t *Tail) nextBatch() *TailBatch {
	t.mu.Lock()
	logs := t.logs
	t.mu.Unlock()
	for range logs {
		t.rotation = (t.rotation + 1) % len(logs)
		for _, f := range logs[t.rotation] {
			for t.hasUnread(f) {
				if batch := t.readBatch(f); batch != nil {
					return batch
				}
			}
		}
	}
	return nil
}

func (t *Tail) hasUnread(f *tailFile) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return f.unread()
}

// Progress returns how far the reading of each file is.
func (t *Tail) Progress() []TailProgress {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	var progress []TailProgress
	for _, log := range t.logs {
		for _, f := range log {
			progress = append(progress, TailProgress{
				Path: f.path, Size: f.size, Read: f.read, Delivered: f.delivered,
				Backlog: f.backlog(), Age: f.age(now),
			})
		}
	}
	return progress
}

// CaughtUp reports whether every whole line is delivered and no file has grown for quiet, counted from
// since at the earliest. It takes a look that began after that time to know: on a busy machine, or
// with thousands of files, there may have been none for longer than that.
func (t *Tail) CaughtUp(since time.Time, quiet time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.files {
		if len(f.handedOut) > 0 || f.unread() {
			return false
		}
	}
	if t.lastGrowth.After(since) {
		since = t.lastGrowth
	}
	return t.lastLook.Sub(since) >= quiet
}

// Close saves the places and ends the Tail. Next must not be running.
func (t *Tail) Close() {
	t.unregister()
	close(t.stop)
	t.stopped.Wait()
	t.Save()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.files {
		f.unfollow(t.reader)
	}
}

func (t *Tail) saveRegularly() {
	ticker := time.NewTicker(t.set.SaveInterval)
	defer ticker.Stop()
	for {
		select {
		case <-t.stop:
			return
		case <-ticker.C:
			t.Save()
		}
	}
}

// Save writes the places that have changed. A folder that cannot be written to fails nothing: the
// places stay in memory and are tried again.
func (t *Tail) Save() {
	if t.places.dir == "" {
		return
	}
	t.saveMu.Lock()
	defer t.saveMu.Unlock()
	type change struct {
		file   *tailFile
		path   string
		offset int64
	}
	var changes []change
	t.mu.Lock()
	for _, f := range t.files {
		if f.delivered != f.saved {
			changes = append(changes, change{f, f.path, f.delivered})
		}
	}
	t.mu.Unlock()
	if len(changes) == 0 {
		return
	}
	err := os.MkdirAll(t.places.dir, 0o750)
	for _, c := range changes {
		if err == nil {
			err = t.places.save(c.file.fingerprint, c.path, c.offset)
		}
		if err != nil {
			break
		}
		t.mu.Lock()
		c.file.saved = c.offset
		t.mu.Unlock()
	}
	t.setUnwritable(err)
}

// setUnwritable tells once that places cannot be saved, and once that they can again.
func (t *Tail) setUnwritable(err error) {
	t.mu.Lock()
	changed := t.unwritable != (err != nil)
	t.unwritable = err != nil
	t.mu.Unlock()
	switch {
	case changed && err != nil:
		t.set.OnEvent(TailEvent{Kind: TailPlaceUnwritable, Path: filepath.Clean(t.places.dir), Err: err})
	case changed:
		t.set.OnEvent(TailEvent{Kind: TailPlaceWritable, Path: filepath.Clean(t.places.dir)})
	}
}
