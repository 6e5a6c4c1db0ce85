//go:build linux

package runfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// patience is how long a reader reads a bad line again, from a newly opened file, before it says
// that it stays. Network file systems show pages out of order for a while.
const patience = 5 * time.Second

// reader is a strict second reader: it polls the file while it is being written, takes whole lines
// only, and a line that is bad and stays so fails it.
type reader struct {
	path string

	mu    sync.Mutex
	place int64
	spans map[uint64]int // how often each was seen
	lines int
	again int // lines that were bad at first
	bad   time.Time
	err   error

	stop, ended chan struct{}
}

// readAlong starts a reader; finish or the test's end stops it.
func readAlong(t *testing.T, path string) *reader {
	t.Helper()
	r := &reader{path: path, spans: map[uint64]int{}, stop: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		for r.look() {
			select {
			case <-r.stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	t.Cleanup(func() { r.halt() })
	return r
}

func (r *reader) halt() {
	select {
	case <-r.stop:
	default:
		close(r.stop)
	}
	<-r.ended
}

// look reads what is new, and returns false when there is no point in going on.
func (r *reader) look() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	data, err := readFrom(r.path, r.place)
	if errors.Is(err, os.ErrNotExist) && r.place == 0 {
		return true
	}
	if err != nil {
		r.err = err
		return false
	}
	for {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		if !whole {
			return true
		}
		ids, err := parse(line)
		switch {
		case err == nil:
			for _, id := range ids {
				r.spans[id]++
			}
			r.lines++
			r.place += int64(len(line)) + 1
			r.bad = time.Time{}
			data = rest
		case r.bad.IsZero():
			r.bad = time.Now()
			r.again++
			return true
		case time.Since(r.bad) < patience:
			return true
		default:
			r.err = fmt.Errorf("line at byte %d stays bad: %w: %.200q", r.place, err, line)
			return false
		}
	}
}

func readFrom(path string, place int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() < place {
		return nil, fmt.Errorf("%s has %d bytes, %d were read: whole lines were taken back", path, info.Size(), place)
	}
	data := make([]byte, info.Size()-place)
	n, _ := f.ReadAt(data, place)
	return data[:n], nil
}

// parse returns the span ids of a line.
func parse(line []byte) (ids []uint64, err error) {
	var object struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []struct{ SpanID string } `json:"spans"`
			} `json:"scopeSpans"`
		} `json:"resourceSpans"`
	}
	if err := json.Unmarshal(line, &object); err != nil {
		return nil, err
	}
	for _, rs := range object.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, span := range ss.Spans {
				id, err := strconv.ParseUint(span.SpanID, 16, 64)
				if err != nil {
					return nil, err
				}
				ids = append(ids, id)
			}
		}
	}
	if len(ids) == 0 {
		return nil, errors.New("no span in it")
	}
	return ids, nil
}

// finish reads to the end, where there must be nothing but whole lines, and says that every
// acknowledged span was read; exactly once if `once`.
func (r *reader) finish(t *testing.T, acknowledged []uint64, once bool) {
	t.Helper()
	r.halt()
	deadline := time.Now().Add(2 * patience)
	for r.look() {
		info, err := os.Stat(r.path)
		require.NoError(t, err)
		if r.place == info.Size() {
			break
		}
		require.True(t, time.Now().Before(deadline), "bytes %d to %d are no line", r.place, info.Size())
		time.Sleep(20 * time.Millisecond)
	}
	require.NoError(t, r.err)
	missing, twice := 0, 0
	for _, id := range acknowledged {
		if r.spans[id] == 0 {
			missing++
		}
	}
	for _, n := range r.spans {
		if n > 1 {
			twice++
		}
	}
	assert.Zero(t, missing, "acknowledged spans that are not in the file")
	if once {
		assert.Zero(t, twice, "spans that are there twice")
	}
	t.Logf("%d spans acknowledged, %d in %d lines, %d twice, %d lines bad at first",
		len(acknowledged), len(r.spans), r.lines, twice, r.again)
	assert.NotEmpty(t, acknowledged)
}
