package runfilereceiver

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"go.uber.org/zap"
)

// gate is what all batches of a receiver pass on their way to the backend. While the backend is down
// one of them at a time tries again, after a pause that grows; the others wait. Without it eight
// batches would ask a dead backend eight times as often, and say so in eight log lines.
type gate struct {
	logger *zap.Logger
	timing timing

	probe chan struct{} // holds the one that tries

	mu        sync.Mutex
	recovered chan struct{} // not nil while the backend is down; closed when it is up again
	downSince time.Time
	pause     time.Duration
	active    int       // batches handed over and not answered
	answered  time.Time // when the last one was, or the first of the active ones began
	stalled   bool      // said so
}

func newGate(logger *zap.Logger, timing timing) *gate {
	return &gate{logger: logger, timing: timing, probe: make(chan struct{}, 1)}
}

// enter waits until the backend may be asked. Each call that returns no error needs a leave.
func (g *gate) enter(ctx context.Context) (isProbe bool, err error) {
	for {
		g.mu.Lock()
		recovered := g.recovered
		if recovered == nil {
			g.begin()
			g.mu.Unlock()
			return false, nil
		}
		g.mu.Unlock()
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-recovered:
		case g.probe <- struct{}{}:
			if g.waitPause(ctx, recovered) {
				g.mu.Lock()
				g.begin()
				g.mu.Unlock()
				return true, nil
			}
			<-g.probe
			if err := ctx.Err(); err != nil {
				return false, err
			}
		}
	}
}

func (g *gate) begin() {
	if g.active == 0 {
		g.answered = time.Now()
	}
	g.active++
}

// waitPause returns whether the pause is over and the backend still down.
func (g *gate) waitPause(ctx context.Context, recovered <-chan struct{}) bool {
	g.mu.Lock()
	// Receivers of many collectors must not ask a backend that comes back all at the same moment.
	pause := time.Duration(float64(g.pause) * (0.75 + rand.Float64()/2)) //nolint:gosec // no secret
	g.mu.Unlock()
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-recovered:
	}
	return false
}

// leave notes the backend's answer: failed is an error that says it is down, nil that it answers.
func (g *gate) leave(isProbe bool, failed error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.active--
	g.answered = time.Now()
	switch {
	case failed == nil && (g.recovered != nil || g.stalled):
		if g.recovered != nil {
			close(g.recovered)
		}
		g.recovered, g.stalled = nil, false
		g.logger.Info("The backend takes spans again", zap.Duration("after", time.Since(g.downSince).Round(time.Millisecond)))
	case failed != nil && g.recovered == nil:
		g.recovered = make(chan struct{})
		g.pause = g.timing.firstPause
		if g.stalled {
			g.stalled = false // it was said that the backend is down
			break
		}
		g.downSince = time.Now()
		g.logger.Warn("The backend does not take spans: reading waits for it, writing does not", zap.Error(failed))
	case failed != nil && isProbe:
		g.pause = min(2*g.pause, g.timing.longestPause)
	}
	if isProbe {
		<-g.probe
	}
}

// waitUp returns when the backend takes spans, or when ctx ends.
func (g *gate) waitUp(ctx context.Context) {
	g.mu.Lock()
	recovered := g.recovered
	g.mu.Unlock()
	if recovered == nil {
		return
	}
	select {
	case <-recovered:
	case <-ctx.Done():
	}
}

// canceled is leave for an attempt that was given up: it says nothing about the backend.
func (g *gate) canceled(isProbe bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.active--
	if isProbe {
		<-g.probe
	}
}

// up reports whether the backend takes spans, as far as its last answers say. An exporter that
// retries by itself gives no answer: after a while of that the backend counts as down too.
func (g *gate) up() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	waiting := time.Since(g.answered)
	if g.recovered == nil && g.active > 0 && waiting > g.timing.stall && !g.stalled {
		g.stalled = true
		g.downSince = g.answered
		g.logger.Warn("The backend has not answered for long: reading waits for it, writing does not",
			zap.Duration("for", waiting.Round(time.Millisecond)))
	}
	return g.recovered == nil && !g.stalled
}
