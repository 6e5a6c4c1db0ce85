package tracefile

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// write has a line go through w as if it was written.
func (w fileWindow) write(line string) bool {
	f, how := w.join([]byte(line))
	if how != fresh {
		return false
	}
	w.take(f)
	w.finish(f, nil)
	return true
}

func TestRetryIsWrittenOnce(t *testing.T) {
	for lines, want := range map[int]string{1000: "a\nb\nc\n", 0: "a\nb\na\nb\nc\n"} {
		path := filepath.Join(t.TempDir(), "traces.jsonl")
		seen := &counts{}
		opts := testOptions(path)
		opts.RetryLines, opts.Observer = lines, seen
		a := mustOpen(t, opts)
		require.NoError(t, put(t.Context(), a, []byte("a\n"), []byte("b\n")))
		require.NoError(t, put(t.Context(), a, []byte("a\n"), []byte("b\n"), []byte("c\n")))
		assert.Equal(t, want, content(t, path))
		assert.Equal(t, lines > 0, seen.duplicates == 2)
	}
}

func TestCopiesWithinARequest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	a := mustOpen(t, testOptions(path))
	require.NoError(t, put(t.Context(), a, []byte("a\n"), []byte("a\n")))
	assert.Equal(t, "a\n", content(t, path))
}

func TestWindowByLines(t *testing.T) {
	w := newWindow(10, time.Hour).of("traces.jsonl")
	for i := range 1000 {
		require.True(t, w.write(strconv.Itoa(i)))
		require.LessOrEqual(t, len(w.ring), 22)
	}
	for i := range 1000 {
		assert.Equal(t, i >= 990, w.knows(w.hash(fmt.Append(nil, i))), i)
	}
	assert.Len(t, w.written, 10)
	assert.Empty(t, w.flights)
}

func TestWindowByAge(t *testing.T) {
	now := time.Unix(0, 0)
	w := newWindow(10, time.Minute).of("traces.jsonl")
	w.now = func() time.Time { return now }
	require.True(t, w.write("line"))
	now = now.Add(time.Minute)
	require.False(t, w.write("line"))
	now = now.Add(1)
	require.True(t, w.write("line"), "too old to be a retry")
}

// A line that was lost and written again must not be forgotten with its first writing.
func TestWindowSettle(t *testing.T) {
	w := newWindow(2, time.Hour).of("traces.jsonl")
	require.True(t, w.write("lost"))
	w.settle(w.hash([]byte("lost")), false)
	require.True(t, w.write("lost"))
	require.True(t, w.write("next"))
	require.False(t, w.write("lost"))
}

func TestWindowFailure(t *testing.T) {
	w := newWindow(10, time.Hour).of("traces.jsonl")
	f, how := w.join([]byte("line"))
	require.Equal(t, fresh, how)
	same, how := w.join([]byte("line"))
	require.Equal(t, copied, how)
	require.Same(t, f, same)
	require.True(t, w.take(f))
	w.finish(f, errors.New("disk"))
	<-same.done
	require.Error(t, same.err, "the copy gets the first one's result")
	require.True(t, w.write("line"), "what failed is not remembered")
}

func TestWindowLeave(t *testing.T) {
	w := newWindow(10, time.Hour).of("traces.jsonl")
	f, _ := w.join([]byte("line"))
	_, _ = w.join([]byte("line"))
	w.leave([]*flight{f}, errors.New("gone"))
	require.Contains(t, w.flights, f.key, "the copy still waits")
	w.leave([]*flight{f}, errors.New("gone"))
	require.False(t, w.take(f), "nobody waits: it is not written")
	require.Empty(t, w.flights)
}

// The memory that the README and the docstring of Options name.
func TestWindowMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	w := newWindow(100_000, time.Hour).of("traces.jsonl")
	line := make([]byte, 8)
	for i := range 300_000 {
		line = fmt.Append(line[:0], i)
		f, _ := w.join(line)
		w.take(f)
		w.finish(f, nil)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	bytes := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("%d bytes a line", bytes/100_000)
	assert.Less(t, bytes, int64(100_000*150))
	runtime.KeepAlive(w)
}

func TestWindow_FilesShareItAndNotTheirLines(t *testing.T) {
	w := newWindow(10, time.Minute)
	f, how := w.of("a").join([]byte("line"))
	require.Equal(t, fresh, how)
	w.finish(f, nil)
	_, how = w.of("b").join([]byte("line"))
	assert.Equal(t, fresh, how)
	_, how = w.of("a").join([]byte("line"))
	assert.Equal(t, known, how)
}
