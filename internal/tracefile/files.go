package tracefile

import (
	"cmp"
	"container/list"
	"context"
	"fmt"
	"os"
	"sync"
	"time"
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

// openFile is a file that is open, or being opened or closed.
type openFile struct {
	path    string
	ready   chan struct{} // closed when app or err is set
	app     *Appender
	err     error
	gone    chan struct{} // closed when it is closed
	member  *member
	users   int
	closing bool
	last    time.Time
	element *list.Element // nil while closing
}

// unused reports whether a file can be closed. To close one that hangs makes no room.
func (o *openFile) unused() bool { return o.users == 0 && o.app != nil && o.answers() }

// answers reports whether the disk does not hang with a file.
func (o *openFile) answers() bool {
	return max(o.app.writing.running(), o.app.syncing.running()) <= o.app.opts.WriteTimeout
}

// OpenFiles takes the lock: that of the file, or .runspan.lock in the folder before the first
// placeholder. A file without placeholders is there when it returns.
func OpenFiles(ctx context.Context, opts FilesOptions) (*Files, error) {
	if opts.fs == nil {
		opts.fs = osFileSystem{}
	}
	if opts.flock == nil {
		opts.flock = flockExclusive
	}
	if opts.Observer == nil {
		opts.Observer = nopObserver{}
	}
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
	path := f.template.Expand(values)
	if err := CheckLoop(ctx, path); err != nil {
		return 0, err
	}
	if f.alone != nil {
		return f.alone.Append(ctx, lines...)
	}
	file, err := f.acquire(ctx, path)
	if err != nil {
		return 0, err
	}
	defer f.release(file)
	return file.app.Append(ctx, lines...)
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

// acquire returns the open file at path, for one user more.
func (f *Files) acquire(ctx context.Context, path string) (*openFile, error) {
	timeout := time.NewTimer(f.opts.WriteTimeout)
	defer timeout.Stop()
	for {
		file, wait, err := f.reserve(path)
		if err != nil {
			return nil, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			err = ctx.Err()
		case <-timeout.C:
			err = fmt.Errorf("%s: it could not be opened within %s (write_timeout): %w",
				path, f.opts.WriteTimeout, ErrHanging)
		}
		switch {
		case file == nil:
			f.mu.Lock()
			f.waiting--
			f.mu.Unlock()
		case err != nil:
			f.release(file)
		case file.err != nil:
			f.release(file)
			return nil, file.err
		default:
			return file, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// reserve returns a file that has one user more and can be used when wait is closed; or no file, and
// then it is worth another try when wait is closed.
func (f *Files) reserve(path string) (file *openFile, wait <-chan struct{}, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch file = f.files[path]; {
	case f.closed:
		return nil, nil, fmt.Errorf("%s: %w", f.opts.Template, ErrClosed)
	case f.locked != nil:
		return nil, nil, f.locked
	case file != nil && !file.closing:
		file.users++
		file.last = time.Now()
		f.used.MoveToFront(file.element)
		return file, file.ready, nil
	case file != nil:
		f.waiting++
		return nil, file.gone, nil
	case f.opened >= f.opts.MaxOpen:
		f.waiting++
		f.makeRoom()
		return nil, f.freed, nil
	}
	file = &openFile{
		path:  path,
		ready: make(chan struct{}),
		gone:  make(chan struct{}),
		member: &member{
			window: f.window, root: f.root, key: f.key, left: f.left[path],
			together: f.syncsTogether(), unsynced: f.takeUnsynced(path),
		},
		users: 1,
		last:  time.Now(),
	}
	file.element = f.used.PushFront(file)
	f.files[path] = file
	f.opened++
	go f.openFile(file)
	// Some room ahead, so that the next one does not wait for an fsync.
	if f.opened-len(f.closing) > f.opts.MaxOpen-f.opts.MaxOpen/16 {
		f.closeLeastUsed()
	}
	return file, file.ready, nil
}

func (f *Files) openFile(file *openFile) {
	opts := f.opts.Options
	opts.Path = file.path
	opts.member = file.member
	opts.Observer = memberObserver{Observer: f.obs, health: f.health, path: file.path}
	// For a predecessor that still waits for its disk.
	opts.LockTimeout = opts.WriteTimeout
	app, err := Open(f.open, opts)
	f.health.set(file.path, err, time.Now().Add(failingTime))
	f.mu.Lock()
	defer f.mu.Unlock()
	file.app, file.err = app, err
	close(file.ready)
	if err != nil {
		f.keepUnsynced(file.path, file.member.unsynced)
		f.used.Remove(file.element)
		f.remove(file)
	}
}

// release ends one use.
func (f *Files) release(file *openFile) {
	f.mu.Lock()
	defer f.mu.Unlock()
	file.users--
	if file.users == 0 && f.waiting > 0 {
		f.makeRoom()
	}
}

// makeRoom begins to close a file for each that waits, as far as there are unused ones.
func (f *Files) makeRoom() {
	coming := 0
	for file := range f.closing {
		if file.answers() {
			coming++
		}
	}
	for ; coming < f.waiting && f.closeLeastUsed(); coming++ {
	}
}

// closeLeastUsed begins to close the file that was not used for longest. It is false when all are in
// use.
func (f *Files) closeLeastUsed() bool {
	for e := f.used.Back(); e != nil; e = e.Prev() {
		if file := e.Value.(*openFile); file.unused() {
			f.startClosing(file)
			return true
		}
	}
	return false
}

// startClosing closes a file that has no user. Its slot is free when the disk has answered.
func (f *Files) startClosing(file *openFile) {
	file.closing = true
	f.used.Remove(file.element)
	f.closing[file] = true
	go func() {
		file.app.startClosing()
		<-file.app.stopped
		f.health.set(file.path, nil, time.Time{})
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.closing, file)
		f.keepUnsynced(file.path, file.member.unsynced)
		f.remember(file)
		f.remove(file)
	}()
}

// remember keeps how a file was left.
func (f *Files) remember(file *openFile) {
	if file.member.left == (fileState{}) {
		delete(f.left, file.path)
		return
	}
	if len(f.left) >= maxLeft {
		for path := range f.left {
			delete(f.left, path)
			break
		}
	}
	f.left[file.path] = file.member.left
}

// remove frees a slot.
func (f *Files) remove(file *openFile) {
	delete(f.files, file.path)
	f.opened--
	close(file.gone)
	close(f.freed)
	f.freed = make(chan struct{})
}

// Close closes every file and gives up the lock, as Appender.Close does. It returns the first error.
func (f *Files) Close(ctx context.Context) error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return nil
	}
	f.closed = true
	var all []*openFile
	for _, file := range f.files {
		all = append(all, file)
	}
	f.mu.Unlock()
	f.close()

	var errs []error
	if f.alone != nil {
		errs = append(errs, f.alone.Close(ctx))
	}
	for _, file := range all {
		errs = append(errs, f.closeFile(ctx, file))
	}
	ended := make(chan error, 1)
	go func() {
		f.tasks.Wait()
		for _, file := range all {
			<-file.gone
		}
		var err error
		if f.syncsTogether() {
			err = f.syncAll()
		}
		// Only a lock that nobody writes under anymore may go to the next writer.
		if f.rootDir != nil {
			_ = f.rootDir.Close() // it was only read
		}
		if f.lock != nil {
			f.lock.release()
		}
		if f.owner != nil {
			f.owner.release()
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		errs = append(errs, err)
	case <-ctx.Done():
		errs = append(errs, ctx.Err())
	case <-time.After(f.opts.WriteTimeout):
		errs = append(errs, fmt.Errorf("%s: closing it: %w", f.root, ErrHanging))
	}
	return cmp.Or(errs...)
}

func (f *Files) closeFile(ctx context.Context, file *openFile) error {
	select {
	case <-file.ready:
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(f.opts.WriteTimeout):
		return fmt.Errorf("%s: opening it: %w", file.path, ErrHanging)
	}
	if file.err != nil {
		return nil // it was told
	}
	f.mu.Lock()
	if !file.closing {
		f.startClosing(file)
	}
	f.mu.Unlock()
	return file.app.Close(ctx)
}
