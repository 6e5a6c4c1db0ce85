package tracefile

import (
	"fmt"
	"time"
)

// syncLoop brings lines to the disk: every SyncInterval, or for the requests that wait for it.
func (a *Appender) syncLoop() {
	defer close(a.syncDone)
	var tick <-chan time.Time
	if a.opts.Durability == DurabilityWrite && a.opts.SyncInterval > 0 && !a.opts.member.syncedByFiles() {
		ticker := time.NewTicker(a.opts.SyncInterval)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case <-a.syncWake:
		case <-tick:
		case <-a.syncStop:
			if !a.opts.member.takeUnsynced(a) {
				a.stopErr = a.syncOnce()
			}
			a.finishWaiting(fmt.Errorf("%s: %w", a.opts.Path, ErrClosed))
			return
		}
		_ = a.syncOnce() // whoever waits for it is told, and the writing goroutine repairs
	}
}

// wakeSync asks for an fsync when requests wait for one.
func (a *Appender) wakeSync() {
	a.mu.Lock()
	waiting := len(a.waiting) > 0
	a.mu.Unlock()
	if waiting {
		poke(a.syncWake)
	}
}

// syncOnce is the group commit: one fsync for every line that was written before it started. The
// lines that are written while it runs wait for the next one together.
func (a *Appender) syncOnce() error {
	a.syncMu.Lock()
	defer a.syncMu.Unlock()
	a.mu.Lock()
	if a.broken != nil || len(a.unsynced) == 0 {
		var err error
		if len(a.unsynced) > 0 {
			err = a.broken
		}
		a.mu.Unlock()
		return err
	}
	f, upTo, waiting := a.file, a.unsynced[len(a.unsynced)-1].end, a.waiting
	a.waiting = nil
	a.mu.Unlock()

	a.syncing.start()
	start := time.Now()
	err := a.syncFolders()
	if err == nil {
		err = f.Sync()
	}
	took := time.Since(start)
	a.syncing.stop()
	a.obs.Synced(took, err)

	if err == nil {
		a.mu.Lock()
		a.dropSynced(upTo)
		a.mu.Unlock()
		if a.opts.Durability == DurabilitySync {
			a.health.set(a.obs, nil)
		}
	} else {
		err = fmt.Errorf("%w: fsync: %w", ErrInDoubt, err)
		a.mu.Lock()
		a.broken = err
		// Lines written since it started may have been part of what did not reach the disk.
		waiting = append(waiting, a.waiting...)
		a.waiting = nil
		a.mu.Unlock()
		a.health.set(a.obs, err)
	}
	for _, w := range waiting {
		a.window.finish(w, err)
	}
	return err
}

// dropSynced forgets the lines up to an offset. The caller holds mu.
func (a *Appender) dropSynced(upTo int64) {
	n := 0
	for n < len(a.unsynced) && a.unsynced[n].end <= upTo {
		n++
	}
	a.unsynced = append(a.unsynced[:0], a.unsynced[n:]...)
}
