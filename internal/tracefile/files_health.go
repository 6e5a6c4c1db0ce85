package tracefile

import (
	"fmt"
	"sync"
	"time"
)

// memberObserver says of which file it is what is told.
type memberObserver struct {
	Observer
	health *filesHealth
	path   string
}

func (o memberObserver) Recreated(why string) {
	o.Observer.Recreated(fmt.Sprintf("%s: %s", o.path, why))
}
func (o memberObserver) Health(err error) { o.health.set(o.path, err, time.Time{}) }

// failingTime is how long a file that cannot be opened counts as failing after the last try.
const failingTime = time.Minute

// filesHealth makes one health of that of many files: a full disk is one message, not one a run.
type filesHealth struct {
	obs Observer

	mu      sync.Mutex
	failing map[string]failingFile // by path
	reasons map[string]int         // how many files fail for each
}

func newFilesHealth(obs Observer) *filesHealth {
	return &filesHealth{obs: obs, failing: map[string]failingFile{}, reasons: map[string]int{}}
}

type failingFile struct {
	reason string
	until  time.Time // zero: until it is told otherwise
}

// set notes what writing a file comes to. The observer is told of each reason once, and when all is
// well again.
func (h *filesHealth) set(path string, err error, until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		h.well(path)
		return
	}
	reason := Reason(err)
	if h.failing[path].reason != reason {
		h.forget(path)
		h.reasons[reason]++
		if h.reasons[reason] == 1 {
			h.obs.Health(err)
		}
	}
	h.failing[path] = failingFile{reason: reason, until: until}
}

func (h *filesHealth) forget(path string) {
	if f, ok := h.failing[path]; ok {
		delete(h.failing, path)
		h.reasons[f.reason]--
	}
}

func (h *filesHealth) well(path string) {
	if _, was := h.failing[path]; !was {
		return
	}
	h.forget(path)
	if len(h.failing) == 0 {
		h.obs.Health(nil)
	}
}

// expire forgets files that nobody has tried to open for a while.
func (h *filesHealth) expire(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for path, f := range h.failing {
		if !f.until.IsZero() && now.After(f.until) {
			h.well(path)
		}
	}
}
