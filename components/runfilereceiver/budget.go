package runfilereceiver

import (
	"context"
	"sync"
)

// budget bounds the batches that are on their way, by number and by bytes. One that is larger than
// all of it goes alone.
type budget struct {
	batches int
	bytes   int64

	mu     sync.Mutex
	active int
	held   int64
	freed  chan struct{} // closed and made anew by give
}

func newBudget(batches int, bytes int64) *budget {
	return &budget{batches: batches, bytes: bytes, freed: make(chan struct{})}
}

// wait returns when one more batch may be on its way.
func (b *budget) wait(ctx context.Context) error {
	return b.until(ctx, func() bool { return b.active < b.batches })
}

// take returns when n bytes may be added, and adds them.
func (b *budget) take(ctx context.Context, n int64) error {
	return b.until(ctx, func() bool {
		if b.active > 0 && b.held+n > b.bytes {
			return false
		}
		b.active++
		b.held += n
		return true
	})
}

func (b *budget) give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.active--
	b.held -= n
	close(b.freed)
	b.freed = make(chan struct{})
}

func (b *budget) until(ctx context.Context, ok func() bool) error {
	for {
		b.mu.Lock()
		done, freed := ok(), b.freed
		b.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
