package tracefile

import (
	"fmt"
	"sync"
	"time"
)

// maxUnsynced bounds the memory of lines that wait for a background fsync, 5 MiB: an fsync that
// hangs for minutes must not fill the memory. The oldest are forgotten first: were that fsync to
// fail in the end, they could not be verified anymore.
const maxUnsynced = 1 << 17

// queue holds the flights that are to be written. It has no bound of its own: each waits in a
// request, and the receiver bounds those.
type queue struct {
	mu      sync.Mutex
	flights []*flight
	closed  bool
	wake    chan struct{}
}

func (q *queue) put(f *flight) bool {
	q.mu.Lock()
	closed := q.closed
	if !closed {
		q.flights = append(q.flights, f)
	}
	q.mu.Unlock()
	if !closed {
		poke(q.wake)
	}
	return !closed
}

// take returns all that waits; its memory is the queue's again at the next take.
func (q *queue) take(spare []*flight) []*flight {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := q.flights
	q.flights = spare[:0]
	return taken
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// writeLoop is the only goroutine that changes the file.
func (a *Appender) writeLoop(ready chan<- error) {
	defer close(a.stopped)
	a.writing.start()
	err := a.begin()
	a.writing.stop()
	if err != nil {
		a.release()
		ready <- err
		return
	}
	go a.syncLoop()
	ready <- nil

	ticker := time.NewTicker(checkEvery)
	defer ticker.Stop()
	var batch []*flight
	for closing := false; !closing; {
		select {
		case <-a.queue.wake:
		case <-ticker.C:
			a.writing.start()
			a.check()
			a.writing.stop()
		case <-a.open.Done():
			closing = true
			a.queue.close()
		}
		batch = a.queue.take(batch)
		for i, f := range batch {
			a.writing.start()
			a.write(f)
			a.writing.stop()
			batch[i] = nil
		}
		a.wakeSync()
	}
	close(a.syncStop)
	<-a.syncDone
	a.release()
}

// begin has the lock and the file, or says why not.
func (a *Appender) begin() error {
	err := a.holdLock(a.opts.LockTimeout)
	if err == nil {
		err = a.repair()
	}
	if err != nil && Reason(err) == ReasonNoSpace {
		a.fail(err)
		return nil
	}
	return err
}

// write appends the line of f, or finishes f with the reason why not.
func (a *Appender) write(f *flight) {
	if !a.window.take(f) {
		return
	}
	err := a.usable()
	if err == nil && a.rotationDue(len(f.line)) {
		a.rotate()
		err = a.usable()
	}
	if err != nil {
		a.window.finish(f, err)
		return
	}
	// A repair may just have found that this line, of which it was in doubt, is in the file.
	if a.window.knows(f.key) {
		a.obs.Duplicate()
		a.window.finish(f, nil)
		return
	}
	start := time.Now()
	n, err := a.file.Write(f.line)
	if err == nil {
		a.obs.LineWritten(len(f.line), time.Since(start))
		a.wrote(f)
		return
	}
	a.takeBack(f, n, err)
	a.window.finish(f, err)
}

func (a *Appender) wrote(f *flight) {
	line := writtenLine{key: f.key, start: a.end, end: a.end + int64(len(f.line))}
	a.end = line.end
	if f.td != nil {
		a.remember(f, line)
	}
	inSync := a.opts.Durability == DurabilitySync
	a.mu.Lock()
	if inSync || a.opts.SyncInterval > 0 {
		if len(a.unsynced) == maxUnsynced {
			a.unsynced = append(a.unsynced[:0], a.unsynced[maxUnsynced/2:]...)
		}
		a.unsynced = append(a.unsynced, line)
	}
	broken := a.broken
	if inSync && broken == nil {
		a.waiting = append(a.waiting, f)
	}
	a.mu.Unlock()
	switch {
	case !inSync:
		if broken == nil {
			a.health.set(a.obs, nil)
		}
		a.window.finish(f, nil)
	case broken != nil:
		// An fsync failed while this line was being written: it is in doubt as well.
		a.window.finish(f, broken)
	}
}

// remember gives the readers in this process the traces of a line. Where another program has appended to
// the file since the last check, the line is not where it is thought to be, and a reader would take it
// for that program's; so the file must end with it.
func (a *Appender) remember(f *flight, line writtenLine) {
	if info, err := a.file.Stat(); err == nil && info.Size() == line.end {
		a.recent.add(line.start, line.end, *f.td)
	}
}

// takeBack removes the n bytes of a line that did not fit. Where that is not certain to have
// worked, nothing more is written before a repair has looked at the end of the file.
func (a *Appender) takeBack(f *flight, n int, cause error) {
	a.needs = len(f.line)
	if Reason(cause) == ReasonNoSpace && n < len(f.line) {
		info, err := a.file.Stat()
		if err == nil && info.Size() == a.end+int64(n) && (n == 0 || a.file.Truncate(a.end) == nil) {
			a.health.set(a.obs, cause)
			return
		}
	}
	a.pending = f.line
	a.fail(cause)
}

// fail stops all writing until a repair.
func (a *Appender) fail(cause error) {
	a.mu.Lock()
	a.broken = cause
	a.mu.Unlock()
	a.health.set(a.obs, cause)
}

// usable repairs the file where that is necessary. It tries at most every 200 ms: a repair reads
// and writes, and hundreds of waiting requests must not each start one.
func (a *Appender) usable() error {
	a.mu.Lock()
	broken := a.broken
	a.mu.Unlock()
	if broken == nil {
		return nil
	}
	if a.lastTry != nil && time.Since(a.lastRepair) < 200*time.Millisecond {
		return a.lastTry
	}
	err := a.holdLock(0)
	if err == nil {
		err = a.repair()
	}
	a.lastRepair, a.lastTry = time.Now(), err
	a.health.set(a.obs, err)
	if err != nil {
		a.finishWaiting(err)
	}
	return err
}

// finishWaiting ends the flights that wait for an fsync.
func (a *Appender) finishWaiting(err error) {
	a.mu.Lock()
	waiting := a.waiting
	a.waiting = nil
	a.mu.Unlock()
	for _, f := range waiting {
		a.window.finish(f, err)
	}
}

// release closes what is open and lets the next writer in.
func (a *Appender) release() {
	recent.close(a.recent)
	if a.file != nil {
		a.opts.member.leave(a)
		if err := a.file.Close(); err != nil && a.stopErr == nil {
			a.stopErr = fmt.Errorf("closing %s: %w", a.opts.Path, err)
		}
	}
	if a.lock != nil {
		a.lock.release()
	}
	a.owner.release()
}
