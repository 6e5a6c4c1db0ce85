package tracefile

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
	"time"

	"github.com/zeebo/xxh3"
)

// lineKey stands for the content of a line. 128 bits, because a collision would lose a line: with
// 100,000 remembered lines the chance is 3e-34 a line, so 3e-22 after 10^12 lines; 64 bits would
// lose one in 2e14. The seed is drawn at each start: nobody can prepare a line that hides another.
type lineKey = xxh3.Uint128

// flight is a line on its way into the file.
type flight struct {
	line []byte
	key  lineKey
	done chan struct{} // closed when err is final
	err  error

	waiters int  // requests that wait for it; guarded by window.mu
	taken   bool // by the writing goroutine, or given up; guarded by window.mu
}

type joined int

const (
	fresh  joined = iota // to be written
	copied               // being written for another request
	known                // in the file
)

// window remembers the lines that are on their way and the last ones that were written, of one file or
// of many.
type window struct {
	maxLines int
	maxAge   time.Duration
	seed     uint64
	now      func() time.Time

	mu      sync.Mutex
	flights map[lineKey]*flight
	written map[lineKey]uint64 // to its number
	ring    []remembered       // oldest at head, numbered from first
	head    int
	first   uint64
}

type remembered struct {
	key lineKey
	at  int64
}

func newWindow(lines int, age time.Duration) *window {
	var seed [8]byte
	_, _ = rand.Read(seed[:]) // never fails
	return &window{
		maxLines: lines,
		maxAge:   age,
		seed:     binary.NativeEndian.Uint64(seed[:]),
		now:      time.Now,
		flights:  map[lineKey]*flight{},
		written:  map[lineKey]uint64{},
	}
}

// fileWindow is the part of a window that is about one file: the same line in another file is another
// line.
type fileWindow struct {
	*window
	seed uint64
}

// of returns the part that is about the file at path.
func (w *window) of(path string) fileWindow {
	return fileWindow{window: w, seed: w.seed ^ xxh3.HashString(path)}
}

// hash returns the key of a line.
func (w fileWindow) hash(line []byte) lineKey { return xxh3.Hash128Seed(line, w.seed) }

// join returns the flight of a line: its own, or that of the copy that came first.
func (w fileWindow) join(line []byte) (*flight, joined) {
	key := w.hash(line)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.maxLines > 0 {
		w.expire()
		if _, ok := w.written[key]; ok {
			return nil, known
		}
		if f, ok := w.flights[key]; ok {
			f.waiters++
			return f, copied
		}
	}
	f := &flight{line: line, key: key, done: make(chan struct{}), waiters: 1}
	if w.maxLines > 0 {
		w.flights[key] = f
	}
	return f, fresh
}

// leave says that one request less waits for each of flights. One that is not being written yet,
// and that nobody waits for, never will be.
func (w *window) leave(flights []*flight, why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range flights {
		f.waiters--
		if f.waiters == 0 && !f.taken {
			f.taken = true
			w.end(f, why)
		}
	}
}

// take begins the writing of f. It returns false when nobody waits for f anymore.
func (w *window) take(f *flight) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f.taken {
		return false
	}
	f.taken = true
	return true
}

// finish ends f: in the file when err is nil.
func (w *window) finish(f *flight, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.remember(f.key)
	}
	w.end(f, err)
}

func (w *window) end(f *flight, err error) {
	if w.flights[f.key] == f {
		delete(w.flights, f.key)
	}
	f.err = err
	f.line = nil
	close(f.done)
}

// knows reports whether a line is in the file.
func (w *window) knows(key lineKey) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.written[key]
	return ok
}

// settle says of a line that was in doubt whether it is in the file.
func (w *window) settle(key lineKey, there bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if there {
		w.remember(key)
	} else {
		delete(w.written, key)
	}
}

func (w *window) remember(key lineKey) {
	if _, ok := w.written[key]; ok || w.maxLines == 0 {
		return
	}
	w.written[key] = w.first + uint64(len(w.ring)-w.head)
	w.ring = append(w.ring, remembered{key: key, at: w.now().UnixNano()})
	w.expire()
}

// expire forgets what is too old or too much.
func (w *window) expire() {
	oldest := w.now().Add(-w.maxAge).UnixNano()
	for w.head < len(w.ring) && (len(w.ring)-w.head > w.maxLines || w.ring[w.head].at < oldest) {
		key := w.ring[w.head].key
		// Settled as lost and written again since, it stands further behind a second time.
		if w.written[key] == w.first {
			delete(w.written, key)
		}
		w.head++
		w.first++
	}
	// Half of the memory at most is gone lines.
	if w.head > len(w.ring)/2 {
		w.ring = append(w.ring[:0], w.ring[w.head:]...)
		w.head = 0
	}
}
