package tracefile

import (
	"sync"
	"time"
)

// Observer is told what an Appender does. Its methods are called from several goroutines and must
// return at once.
type Observer interface {
	// LineWritten is called after each write, with the bytes of the line and how long it took.
	LineWritten(bytes int, took time.Duration)
	// Synced is called after each fsync; err is nil when it succeeded.
	Synced(took time.Duration, err error)
	// Duplicate is called for each line that was not written because it is in the file already.
	Duplicate()
	// MovedAside is called when bytes that are no line were moved to the file named to.
	MovedAside(bytes int64, to string)
	// Recreated is called when the file was created anew because of why.
	Recreated(why string)
	// Rotated is called when the file was closed as the segment with that path and size.
	Rotated(segment string, bytes int64)
	// NotRotated is called when that failed: the file is written on, and it is tried again.
	NotRotated(err error)
	// Deleted is called when retention has deleted a file.
	Deleted(Deletion)
	// NotDeleted is called when retention cannot keep its limits, once until it can again.
	NotDeleted(err error)
	// Lost is called when acknowledged lines turned out not to be in the file anymore.
	Lost(lines int, why error)
	// Health is called when writing begins to fail (with the error), fails for another reason,
	// or works again (nil).
	Health(err error)
}

type nopObserver struct{}

func (nopObserver) LineWritten(int, time.Duration) {}
func (nopObserver) Synced(time.Duration, error)    {}
func (nopObserver) Duplicate()                     {}
func (nopObserver) MovedAside(int64, string)       {}
func (nopObserver) Recreated(string)               {}
func (nopObserver) Rotated(string, int64)          {}
func (nopObserver) NotRotated(error)               {}
func (nopObserver) Deleted(Deletion)               {}
func (nopObserver) NotDeleted(error)               {}
func (nopObserver) Lost(int, error)                {}
func (nopObserver) Health(error)                   {}

// health passes on changes only: an outage is one message, not one a request.
type health struct {
	mu     sync.Mutex
	reason string // empty: well
}

func (h *health) set(obs Observer, err error) {
	reason := ""
	if err != nil {
		reason = Reason(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.reason != reason {
		h.reason = reason
		obs.Health(err)
	}
}

func (h *health) is(reason string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reason == reason
}
