package runfilereceiver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

var errDown = errors.New("connection refused")

func down(context.Context, ptrace.Traces) error { return errDown }

func TestReceiver_DeliversAndSavesItsPlace(t *testing.T) {
	x := newFixture(t, nil)
	x.write(t, line(t, "a", "driver", 0, 3))
	x.start(t)
	eventually(t, "3 spans", x.backend.has(3))
	x.write(t, line(t, "a", "driver", 3, 2))
	eventually(t, "5 spans", x.backend.has(5))
	x.stop(t)
	assert.Equal(t, int64(5), x.value(t, "delivered_spans", ""))

	y := x.again(t)
	y.start(t)
	y.write(t, line(t, "a", "driver", 5, 1))
	eventually(t, "the new span", y.backend.has(1))
	y.stop(t)
	assert.Equal(t, map[string]int{"span 5": 1}, y.backend.taken)
}

// A backend that is down: nothing is lost, one log line, no spinning, one when it is back.
func TestReceiver_BackendDown(t *testing.T) {
	x := newFixture(t, func(cfg *Config, _ *timing) { cfg.MaxBatchBytes = 1000 })
	x.backend.set(down)
	for i := range 100 {
		x.write(t, line(t, "a", "driver", i, 1))
	}
	x.start(t)
	time.Sleep(400 * time.Millisecond)
	// The pauses are 1, 2, 4 ... 20 ms, a quarter less at most: 30 attempts and the first of eight
	// batches. Without a gate it would be hundreds.
	assert.Less(t, x.backend.asked(), 60)
	assert.Equal(t, int64(0), x.value(t, "backend_up", ""))
	assert.Positive(t, x.value(t, "backlog_bytes", ""))
	assert.Positive(t, x.value(t, "retries", ""))
	assert.Equal(t, 1, x.logs.FilterMessageSnippet("does not take spans").Len())

	x.backend.set(nil)
	eventually(t, "all spans", x.backend.has(100))
	eventually(t, "the backlog to end", func() bool { return x.value(t, "backlog_bytes", "") == 0 })
	for name, n := range x.backend.taken {
		assert.Equal(t, 1, n, name)
	}
	assert.Equal(t, int64(1), x.value(t, "backend_up", ""))
	assert.Equal(t, 1, x.logs.FilterMessageSnippet("takes spans again").Len())
	assert.Equal(t, 1, x.logs.FilterMessageSnippet("does not take spans").Len())
}

// A backend that is down at shutdown is not waited for, and gets everything after the next start.
func TestReceiver_ShutdownWithBackendDown(t *testing.T) {
	x := newFixture(t, func(_ *Config, times *timing) { times.drain = time.Hour })
	x.backend.set(down)
	x.write(t, line(t, "a", "driver", 0, 3))
	x.start(t)
	eventually(t, "an attempt", func() bool { return x.backend.asked() > 0 && !x.gate.up() })
	x.stop(t)
	assert.Empty(t, x.backend.taken)
	assert.Equal(t, 1, x.logs.FilterMessageSnippet("Shutting down with a backlog").Len())
	y := x.again(t)
	y.start(t)
	eventually(t, "3 spans", y.backend.has(3))
}

// An exporter that retries by itself never answers: that counts as down too, after a while.
func TestReceiver_BackendNeverAnswers(t *testing.T) {
	x := newFixture(t, func(_ *Config, times *timing) { times.drain = time.Hour })
	x.backend.set(func(ctx context.Context, _ ptrace.Traces) error {
		<-ctx.Done()
		return fmt.Errorf("request is cancelled: %w", errDown)
	})
	x.write(t, line(t, "a", "driver", 0, 3))
	x.start(t)
	eventually(t, "the stall to be seen", func() bool { return !x.gate.up() })
	x.gate.up()
	assert.Equal(t, 1, x.logs.FilterMessageSnippet("has not answered").Len())
	x.stop(t)
	y := x.again(t)
	y.start(t)
	eventually(t, "3 spans", y.backend.has(3))
}

// An exporter that does not even look at its context does not hold up the end of the process.
func TestReceiver_ExporterHangsAtShutdown(t *testing.T) {
	x := newFixture(t, func(_ *Config, times *timing) {
		times.drain = 10 * time.Millisecond
		times.giveUp = 10 * time.Millisecond
	})
	release := make(chan struct{})
	x.backend.set(func(context.Context, ptrace.Traces) error { <-release; return errDown })
	x.write(t, line(t, "a", "driver", 0, 3))
	x.start(t)
	eventually(t, "an attempt", func() bool { return x.backend.asked() > 0 })
	x.stop(t)
	assert.Equal(t, 1, x.logs.FilterMessageSnippet("does not give up").Len())
	close(release)
	x.tasks.Wait()
}

func TestReceiver_AtMostMaxInFlight(t *testing.T) {
	x := newFixture(t, func(cfg *Config, _ *timing) { cfg.MaxBatchBytes = 1; cfg.MaxInFlight = 3; cfg.MaxLineBytes = 1 << 20 })
	x.backend.set(func(context.Context, ptrace.Traces) error { time.Sleep(2 * time.Millisecond); return nil })
	for i := range 50 {
		x.write(t, line(t, "a", "driver", i, 1))
	}
	x.start(t)
	eventually(t, "50 spans", x.backend.has(50))
	assert.Equal(t, 1, x.backend.most, "each line is larger than the memory of all batches: they go alone")

	y := newFixture(t, func(cfg *Config, _ *timing) { cfg.MaxBatchBytes = 1000; cfg.MaxInFlight = 3 })
	y.backend.set(func(context.Context, ptrace.Traces) error { time.Sleep(2 * time.Millisecond); return nil })
	for i := range 50 {
		y.write(t, line(t, "a", "driver", i, 1))
	}
	y.start(t)
	eventually(t, "50 spans", y.backend.has(50))
	assert.Equal(t, 3, y.backend.most)
}

// Batches are delivered in any order; a restart without a saved place repeats, and never skips.
func TestReceiver_SlowFirstBatch(t *testing.T) {
	x := newFixture(t, func(cfg *Config, _ *timing) { cfg.MaxBatchBytes = 1000 })
	hold := make(chan struct{})
	x.backend.set(func(ctx context.Context, td ptrace.Traces) error {
		if names(td)[0] == "span 0" {
			select {
			case <-hold:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for i := range 30 {
		x.write(t, line(t, "a", "driver", i, 1))
	}
	x.start(t)
	eventually(t, "all but the first batch", x.backend.has(20))
	x.timing.drain = 0 // a kill
	x.stop(t)
	assert.Zero(t, x.backend.count("span 0"))
	y := x.again(t)
	y.start(t)
	eventually(t, "all", y.backend.has(30))
	close(hold)
}

func TestReceiver_BadLines(t *testing.T) {
	x := newFixture(t, nil)
	good := line(t, "a", "driver", 0, 1)
	x.write(t, good,
		"not JSON",
		good[:len(good)-10],               // torn
		line(t, "a", "driver", 1, 1)+good, // two objects, glued
		`{"resourceMetrics":[]}`,          // another signal
		"", "  ",                          // nothing
		`{"resourceSpans":7}`,                         // JSON, but no traces
		line(t, "a", "driver", 2, 1)+"\r",             // a foreign line end
		strings.Repeat("[", 200000)+`{"a":`+`"`+`\"}`, // deep, and no end
	)
	x.start(t)
	x.write(t, line(t, "a", "driver", 3, 1))
	eventually(t, "the good lines", x.backend.has(3))
	eventually(t, "the backlog to end", func() bool { return x.value(t, "backlog_bytes", "") == 0 })
	assert.Equal(t, map[string]int{"span 0": 1, "span 2": 1, "span 3": 1}, x.backend.taken)
	assert.Equal(t, int64(4), x.value(t, "skipped_lines", "not_json"))
	assert.Equal(t, int64(2), x.value(t, "skipped_lines", "not_traces"))
	assert.Equal(t, 1, x.logs.FilterMessageSnippet("cannot be read").Len())
}

// What a network file system shows for a moment: a page of zeros, with a line end in it.
func TestReceiver_BadLineIsReadAgain(t *testing.T) {
	x := newFixture(t, func(_ *Config, times *timing) {
		times.rereads = []time.Duration{300 * time.Millisecond, 10 * time.Second}
	})
	first, second := line(t, "a", "driver", 1, 1), line(t, "a", "driver", 2, 1)
	x.write(t, line(t, "a", "driver", 0, 1), strings.Repeat("\x00", len(first)+1+len(second)))
	x.start(t)
	eventually(t, "the file to be read", func() bool {
		p := x.Progress()
		return len(p) == 1 && p[0].Read == p[0].Size
	})
	whole := strings.Join([]string{line(t, "a", "driver", 0, 1), first, second, ""}, "\n")
	require.NoError(t, os.WriteFile(filepath.Join(x.dir, "traces.jsonl"), []byte(whole), 0o600))
	eventually(t, "3 spans", x.backend.has(3))
	assert.Zero(t, x.value(t, "skipped_lines", "not_json"))
}

func TestReceiver_LineTooLong(t *testing.T) {
	x := newFixture(t, func(cfg *Config, _ *timing) { cfg.MaxBatchBytes = 1000; cfg.MaxLineBytes = 5000 })
	x.write(t, line(t, "a", "driver", 0, 1), line(t, strings.Repeat("r", 6000), "driver", 1, 1),
		line(t, strings.Repeat("r", 1000), "driver", 2, 1), line(t, "a", "driver", 3, 1))
	x.start(t)
	eventually(t, "3 spans", x.backend.has(3))
	assert.Equal(t, int64(1), x.value(t, "skipped_lines", "too_long"))
	assert.Zero(t, x.backend.count("span 1"))
}

func TestReceiver_Match(t *testing.T) {
	x := newFixture(t, func(cfg *Config, _ *timing) {
		cfg.Match = MatchConfig{Run: "b", Service: "driver", From: time.Unix(1e9+2, 0), To: time.Unix(1e9+6, 0)}
	})
	x.write(t, line(t, "a", "driver", 0, 10), line(t, "b", "driver", 0, 10), line(t, "b", "actor", 10, 10))
	x.start(t)
	eventually(t, "4 spans", x.backend.has(4))
	eventually(t, "the backlog to end", func() bool { return x.value(t, "backlog_bytes", "") == 0 })
	assert.Equal(t, map[string]int{"span 2": 1, "span 3": 1, "span 4": 1, "span 5": 1}, x.backend.taken)
	assert.Equal(t, int64(26), x.value(t, "filtered_spans", ""))
}

// A damaged place: intake starts as always, and it is said and counted.
func TestReceiver_DamagedPlace(t *testing.T) {
	x := newFixture(t, nil)
	x.write(t, line(t, "a", "driver", 0, 1))
	x.start(t)
	eventually(t, "the span", x.backend.has(1))
	x.stop(t)
	places, err := filepath.Glob(filepath.Join(x.cfg.Places, "*.place"))
	require.NoError(t, err)
	require.Len(t, places, 1)
	require.NoError(t, os.Truncate(places[0], 0))
	y := x.again(t)
	y.start(t)
	eventually(t, "the span again", y.backend.has(1))
	assert.Equal(t, int64(1), y.value(t, "place_failures", "damaged"))
	assert.Equal(t, 1, y.logs.FilterMessageSnippet("A place cannot be used").Len())
}

func TestReceiver_UnwritablePlaces(t *testing.T) {
	x := newFixture(t, func(cfg *Config, _ *timing) {
		require.NoError(t, os.WriteFile(cfg.Places, []byte("in the way"), 0o600))
	})
	x.write(t, line(t, "a", "driver", 0, 1))
	x.start(t)
	eventually(t, "the span", x.backend.has(1))
	eventually(t, "the count", func() bool { return x.value(t, "place_failures", "unwritable") == 1 })
	x.write(t, line(t, "a", "driver", 1, 1))
	eventually(t, "the next span", x.backend.has(2))
}

func TestReceiver_FileRemovedBeforeItWasRead(t *testing.T) {
	x := newFixture(t, func(cfg *Config, _ *timing) { cfg.MaxBatchBytes = 1000; cfg.MaxInFlight = 1 })
	x.backend.set(down)
	for i := range 30 {
		x.write(t, line(t, "a", "driver", i, 1))
	}
	x.start(t)
	eventually(t, "an attempt", func() bool { return x.backend.asked() > 0 })
	require.NoError(t, os.Remove(filepath.Join(x.dir, "traces.jsonl")))
	x.backend.set(nil)
	eventually(t, "the loss to be counted", func() bool { return x.value(t, "lost_bytes", "") > 0 })
}

// At shutdown the end of the file is read to where it stops moving.
func TestReceiver_DrainsAtShutdown(t *testing.T) {
	x := newFixture(t, func(_ *Config, times *timing) { times.quiet = 100 * time.Millisecond; times.drain = 10 * time.Second })
	lines := make([]string, 10)
	for i := range lines {
		lines[i] = line(t, "a", "driver", i, 1)
	}
	x.start(t)
	x.write(t, lines[0])
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, text := range lines[1:] {
			time.Sleep(20 * time.Millisecond)
			assert.NoError(t, x.tryWrite(text))
		}
	}()
	x.stop(t)
	<-done
	assert.Len(t, x.backend.taken, 10)
}

// A file that never stops growing does not hold up the end of the process.
func TestReceiver_DrainIsBounded(t *testing.T) {
	x := newFixture(t, func(_ *Config, times *timing) { times.drain = 100 * time.Millisecond })
	x.start(t)
	stop := make(chan struct{})
	text := line(t, "a", "driver", 0, 1)
	var writing sync.WaitGroup
	writing.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				assert.NoError(t, x.tryWrite(text))
			}
		}
	})
	eventually(t, "some spans", func() bool { return x.backend.count("span 0") > 3 })
	x.stop(t)
	close(stop)
	writing.Wait()
}
