package tracefile

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The property that at-least-once stands on: whatever the order in which batches come back, the
// place is never behind a batch that is not delivered, and it is at the end when all are.
func TestTail_PlaceIsTheLowestUndelivered(t *testing.T) {
	for seed := range int64(200) {
		random := rand.New(rand.NewSource(seed))
		f := &tailFile{}
		var out []*tailRange
		starts := map[*tailRange]int64{}
		for f.read < 10000 || len(out) > 0 {
			if f.read < 10000 && (len(out) == 0 || random.Intn(2) == 0) {
				start := f.read
				r := f.handOut(f.read + 1 + random.Int63n(500))
				starts[r] = start
				out = append(out, r)
			} else {
				i := random.Intn(len(out))
				r := out[i]
				out = slices.Delete(out, i, i+1)
				f.done(r)
			}
			lowest := f.read
			for _, r := range out {
				lowest = min(lowest, starts[r])
			}
			require.Equal(t, lowest, f.delivered, "seed %d", seed)
		}
		require.Empty(t, f.handedOut)
	}
}

// A batch of before a restart of its file must not move the place of what came after.
func TestTail_LateBatchOfARestartedFile(t *testing.T) {
	f := &tailFile{}
	old := f.handOut(100)
	f.restart(10)
	f.handOut(20)
	f.done(old)
	assert.Equal(t, int64(10), f.delivered)
}

// Killed at random moments, with batches delivered in random order and places saved now and then:
// no line is ever missing, and again come only those from the last saved place on.
func TestTail_AtLeastOnceAcrossCrashes(t *testing.T) {
	x := newTailFixture(t, func(set *TailSettings) { set.MaxBatchBytes = 64 })
	random := rand.New(rand.NewSource(1))
	delivered := map[string]int{}
	written, again := 0, 0
	var out []*TailBatch
	for step := range 3000 {
		switch n := random.Intn(100); {
		case step%700 == 699:
			out = nil
			x.crash(t)
			again++
		case n < 40:
			x.append(t, "traces.jsonl", fmt.Sprintf("line %d\n", written))
			written++
		case n < 65 && len(out) < 8:
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
			if b, err := x.Next(ctx); err == nil {
				out = append(out, b)
			}
			cancel()
		case n < 95 && len(out) > 0:
			i := random.Intn(len(out))
			for line := range strings.Lines(string(out[i].Data)) {
				delivered[line]++
			}
			out[i].Delivered()
			out = slices.Delete(out, i, i+1)
		case n < 97:
			x.Save()
		}
	}
	for _, b := range out {
		for line := range strings.Lines(string(b.Data)) {
			delivered[line]++
		}
		b.Delivered()
	}
	x.deliverUntil(t, func(text string) bool {
		for line := range strings.Lines(text) {
			delivered[line]++
		}
		return len(delivered) == written
	})
	require.Equal(t, 4, again)
	require.Len(t, delivered, written)
}

// After a kill the lines since the last saved place come again, no others.
func TestTail_AgainOnlySinceTheLastPlace(t *testing.T) {
	x := newTailFixture(t, func(set *TailSettings) { set.MaxBatchBytes = 2 })
	x.write(t, "traces.jsonl", "1\n2\n3\n4\n5\n")
	first, second, third := x.batch(t), x.batch(t), x.batch(t)
	first.Delivered()
	third.Delivered() // not the second: the place stays before it
	x.Save()
	second.Delivered()
	x.crash(t)
	assert.Equal(t, "2\n3\n4\n5\n", x.deliver(t))
}
