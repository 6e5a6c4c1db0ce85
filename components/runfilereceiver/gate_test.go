package runfilereceiver

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

func TestGate_OneAsksTheOthersWait(t *testing.T) {
	g := newGate(zap.NewNop(), quick)
	isProbe, err := g.enter(t.Context())
	require.NoError(t, err)
	assert.False(t, isProbe)
	g.leave(isProbe, errDown)

	var mu sync.Mutex
	now, most, asked := 0, 0, 0
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for {
				isProbe, err := g.enter(t.Context())
				if err != nil {
					return // the test has ended
				}
				mu.Lock()
				asked++
				var answer error
				if isProbe {
					now++
					most = max(most, now)
					if asked < 5 {
						answer = errDown
					}
				}
				mu.Unlock()
				time.Sleep(time.Millisecond)
				mu.Lock()
				if isProbe {
					now--
				}
				mu.Unlock()
				g.leave(isProbe, answer)
				if answer == nil {
					return
				}
			}
		})
	}
	all.Wait()
	assert.Equal(t, 1, most)
	assert.True(t, g.up())
}

func TestGate_EndsWithItsContext(t *testing.T) {
	g := newGate(zap.NewNop(), timing{firstPause: time.Hour})
	isProbe, err := g.enter(t.Context())
	require.NoError(t, err)
	g.leave(isProbe, errDown)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			_, err := g.enter(ctx)
			assert.ErrorIs(t, err, context.Canceled)
		})
	}
	time.Sleep(5 * time.Millisecond)
	cancel()
	all.Wait()
}
