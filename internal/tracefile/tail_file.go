package tracefile

import (
	"os"
	"time"
)

// tailFile is one file that is read, wherever it is now. All fields are guarded by Tail.mu; read and
// lookFrom are written by the reading goroutine only.
type tailFile struct {
	fingerprint string
	order       tailOrder
	path        string
	size        int64 // when it was last looked at

	read      int64 // the next byte to hand out
	lookFrom  int64 // there is no newline in [read, lookFrom)
	delivered int64 // the lowest offset not delivered
	saved     int64 // what the place on disk says, -1: not saved
	handedOut []*tailRange
	seen      []tailSeen

	recent                 *recentFile // of the writer in this process, nil where it has none
	resolved, resolvedFrom string      // path without symbolic links, and which path that was

	grown       time.Time // when size last changed
	lookAgain   time.Time // when to look for the end of the last line from its beginning
	blocked     bool      // nothing to be read before the next look
	shrunkSince time.Time // since when size < read
	tornSince   time.Time // since when there is no newline before read
	goneSince   time.Time
}

// tailRange is one batch that was handed out and ends at end.
type tailRange struct {
	end  int64
	done bool
}

// handOut notes that [read, end) is on its way.
func (f *tailFile) handOut(end int64) *tailRange {
	r := &tailRange{end: end}
	f.handedOut = append(f.handedOut, r)
	f.read, f.lookFrom = end, end
	return r
}

// done notes that a batch was delivered. Batches come back in any order: the place moves over those
// that are complete from the front, never over one that is still on its way. A batch from before
// a restart of the file is in no list anymore and moves nothing.
func (f *tailFile) done(r *tailRange) {
	r.done = true
	n := 0
	for n < len(f.handedOut) && f.handedOut[n].done {
		f.delivered = f.handedOut[n].end
		n++
	}
	f.handedOut = f.handedOut[n:]
	f.forget()
}

// restart makes reading go on at offset, whatever was handed out.
func (f *tailFile) restart(offset int64) {
	f.read, f.lookFrom, f.delivered, f.saved = offset, offset, offset, -1
	f.handedOut, f.seen = nil, nil
	f.shrunkSince, f.tornSince = time.Time{}, time.Time{}
	f.blocked = false
}

// unread reports whether there may be a whole line to hand out.
func (f *tailFile) unread() bool {
	return !f.blocked && f.shrunkSince.IsZero() && f.goneSince.IsZero() && f.lookFrom < f.size
}

// backlog returns the bytes not delivered. Bytes after the last newline are not data.
func (f *tailFile) backlog() int64 {
	if f.delivered == f.read && f.lookFrom >= f.size {
		return 0
	}
	return max(0, f.size-f.delivered)
}

// tailSeen says that the file had a size at a time.
type tailSeen struct {
	size int64
	at   time.Time
}

// tailMostSeen bounds the memory of a file whose backend is down for days: beyond it every second
// entry goes.
const tailMostSeen = 1000

// grow notes a size, at most once a second: the age of the backlog is exact to a second.
func (f *tailFile) grow(size int64, at time.Time) {
	f.size = size
	if n := len(f.seen); n > 0 && at.Sub(f.seen[n-1].at) < time.Second {
		return
	}
	if len(f.seen) >= tailMostSeen {
		kept := f.seen[:0]
		for i := 0; i < len(f.seen); i += 2 {
			kept = append(kept, f.seen[i])
		}
		f.seen = kept
	}
	f.seen = append(f.seen, tailSeen{size, at})
}

// forget drops what says nothing about bytes that are still to be delivered.
func (f *tailFile) forget() {
	n := 0
	for n < len(f.seen) && f.seen[n].size <= f.delivered {
		n++
	}
	f.seen = f.seen[n:]
}

// age returns how long the oldest byte that is not delivered has been in the file.
func (f *tailFile) age(now time.Time) time.Duration {
	if f.backlog() == 0 {
		return 0
	}
	for _, s := range f.seen {
		if s.size > f.delivered {
			return max(0, now.Sub(s.at))
		}
	}
	return 0 // it came within the last second
}

// tailLook is what one look at a path found.
type tailLook struct {
	path        string
	fingerprint string
	info        os.FileInfo
}

// TailProgress is how far the reading of one file is.
type TailProgress struct {
	Path      string
	Size      int64         // bytes
	Read      int64         // bytes handed to the pipeline
	Delivered int64         // bytes that the backend has confirmed, from the beginning without a gap
	Backlog   int64         // bytes of whole lines not delivered
	Age       time.Duration // how long the oldest of them has been waiting
}
