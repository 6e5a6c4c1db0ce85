package tracefile

import (
	"container/list"
	"context"
	"fmt"
	"time"
)

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
	foreign error // why it is not written to: another writer has it
	last    time.Time
	element *list.Element // nil while closing
}

// unused reports whether a file can be closed. To close one that hangs makes no room.
func (o *openFile) unused() bool { return o.users == 0 && o.app != nil && o.answers() }

// answers reports whether the disk does not hang with a file.
func (o *openFile) answers() bool {
	return max(o.app.writing.running(), o.app.syncing.running()) <= o.app.opts.WriteTimeout
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
	case file != nil && !file.closing && file.foreign != nil:
		return nil, nil, file.foreign
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
	var app *Appender
	err := f.foreignWriter(file.path)
	if err == nil {
		app, err = Open(f.open, opts)
	}
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
	foreign := file.foreign
	go func() {
		file.app.startClosing()
		<-file.app.stopped
		f.health.set(file.path, foreign, time.Now().Add(failingTime))
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
