package tracefile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// tailFixture is a Tail on a folder of the test, with short times.
type tailFixture struct {
	*Tail
	set    TailSettings
	dir    string
	mu     sync.Mutex
	events []TailEvent
}

func newTailFixture(t *testing.T, change func(*TailSettings)) *tailFixture {
	t.Helper()
	dir := t.TempDir()
	x := &tailFixture{dir: dir, set: TailSettings{
		Name: "run_file/test", Include: []string{filepath.Join(dir, "traces.jsonl")}, Places: filepath.Join(dir, "places"),
		PollInterval: 2 * time.Millisecond, SaveInterval: time.Hour, SettleTime: 30 * time.Millisecond,
	}}
	x.set.OnEvent = func(e TailEvent) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.events = append(x.events, e)
	}
	if change != nil {
		change(&x.set)
	}
	x.Tail = NewTail(x.set)
	t.Cleanup(func() { x.Close() })
	return x
}

// crash makes a new Tail as a process does that was killed: no place is saved.
func (x *tailFixture) crash(t *testing.T) {
	t.Helper()
	x.set.Places, x.places.dir = x.places.dir, ""
	x.Close()
	x.mu.Lock()
	x.events = nil
	x.mu.Unlock()
	x.Tail = NewTail(x.set)
}

func (x *tailFixture) path(name string) string { return filepath.Join(x.dir, name) }

func (x *tailFixture) write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(x.path(name), []byte(text), 0o600))
}

func (x *tailFixture) append(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, x.tryAppend(name, text))
}

// tryAppend is append for other goroutines than the test's.
func (x *tailFixture) tryAppend(name, text string) error {
	f, err := os.OpenFile(x.path(name), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// batch returns the next batch; the test fails when there is none.
func (x *tailFixture) batch(t *testing.T) *TailBatch {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	b, err := x.Next(ctx)
	require.NoError(t, err)
	return b
}

// deliver returns the text of what is to be read until nothing more comes, and delivers it. How long
// a pause is says nothing on a busy machine: it ends after three looks that found nothing, none of
// which was still waiting for something to settle.
func (x *tailFixture) deliver(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	idleSince, looks, last := time.Now(), 0, x.nextLook
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		b, err := x.Next(ctx)
		cancel()
		if err == nil {
			text.Write(b.Data)
			b.Delivered()
			idleSince, looks = time.Now(), 0
			continue
		}
		if x.nextLook != last {
			looks, last = looks+1, x.nextLook
		}
		if idle := time.Since(idleSince); idle > 10*time.Second || idle >= 100*time.Millisecond && looks >= 3 && !x.settling() {
			return text.String()
		}
	}
}

// settling reports whether a file is still looked at in the hope that it will be as it was.
func (x *tailFixture) settling() bool {
	x.Tail.mu.Lock()
	defer x.Tail.mu.Unlock()
	for _, f := range x.files {
		for _, since := range []time.Time{f.shrunkSince, f.tornSince, f.goneSince} {
			if !since.IsZero() && time.Since(since) < 4*x.set.SettleTime {
				return true
			}
		}
	}
	return false
}

// deliverUntil is deliver until enough came, for files that grow meanwhile.
func (x *tailFixture) deliverUntil(t *testing.T, enough func(text string) bool) string {
	t.Helper()
	text := x.deliver(t)
	for until := time.Now().Add(10 * time.Second); !enough(text) && time.Now().Before(until); {
		text += x.deliver(t)
	}
	return text
}

func (x *tailFixture) seenEvents(kind TailEventKind) []TailEvent {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(x.events), func(e TailEvent) bool { return e.Kind != kind })
}
