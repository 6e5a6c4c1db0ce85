package tracefile

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAppend(t *testing.T) {
	for _, durability := range []Durability{DurabilityWrite, DurabilitySync} {
		t.Run(string(durability), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "traces.jsonl")
			opts := testOptions(path)
			opts.Durability = durability
			a := mustOpen(t, opts)
			assert.Empty(t, content(t, path), "the file is there before the first line")

			require.NoError(t, put(t.Context(), a, []byte("one\n")))
			assert.Equal(t, "one\n", content(t, path))
			require.NoError(t, put(t.Context(), a, []byte("two\n"), []byte("three\n")))
			assert.Equal(t, "one\ntwo\nthree\n", content(t, path))
			require.NoError(t, a.Close(t.Context()))
			require.ErrorIs(t, put(t.Context(), a, []byte("four\n")), ErrClosed)

			b := mustOpen(t, opts)
			require.NoError(t, put(t.Context(), b, []byte("one\n")))
			assert.Equal(t, "one\ntwo\nthree\none\n", content(t, path), "a restart appends")
		})
	}
}

func TestAppendRefusesWhatIsNoLine(t *testing.T) {
	a := mustOpen(t, testOptions(filepath.Join(t.TempDir(), "traces.jsonl")))
	for _, line := range []string{"", "\n", "{}"} {
		require.Error(t, put(t.Context(), a, []byte(line)), "%q", line)
	}
}

func TestAppendOneWriteALine(t *testing.T) {
	fs := &faultFS{}
	opts := testOptions(filepath.Join(t.TempDir(), "traces.jsonl"))
	opts.fs = fs
	a := mustOpen(t, opts)
	for i := range 10 {
		require.NoError(t, put(t.Context(), a, fmt.Appendf(nil, "%d\n", i), fmt.Appendf(nil, "x%d\n", i)))
	}
	assert.Equal(t, 20, fs.writes)
}

func TestFullDisk(t *testing.T) {
	for _, partial := range []int{0, 3} {
		t.Run(fmt.Sprintf("%d bytes fit", partial), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "traces.jsonl")
			fs, seen := &faultFS{}, &counts{}
			opts := testOptions(path)
			opts.fs, opts.Observer = fs, seen
			a := mustOpen(t, opts)
			require.NoError(t, put(t.Context(), a, []byte("before\n")))

			fs.set(func(fs *faultFS) {
				fs.write = func(f *os.File, line []byte) (int, error) {
					n, _ := f.Write(line[:partial])
					return n, syscall.ENOSPC
				}
			})
			for range 3 {
				err := put(t.Context(), a, []byte("during\n"))
				require.ErrorIs(t, err, syscall.ENOSPC)
				assert.Equal(t, ReasonNoSpace, Reason(err))
				assert.Equal(t, "before\n", content(t, path), "what was written of the line is taken back")
			}
			fs.set(func(fs *faultFS) { fs.write = nil })
			require.NoError(t, put(t.Context(), a, []byte("during\n")))
			assert.Equal(t, "before\nduring\n", content(t, path))
			require.Len(t, seen.health, 2, "one message when it begins, one when it ends")
			require.Error(t, seen.health[0])
			require.NoError(t, seen.health[1])
		})
	}
}

func TestFullDiskHealsWithoutRequests(t *testing.T) {
	fs, seen := &faultFS{}, &counts{}
	opts := testOptions(filepath.Join(t.TempDir(), "traces.jsonl"))
	opts.fs, opts.Observer = fs, seen
	a := mustOpen(t, opts)
	fs.set(func(fs *faultFS) { fs.write = func(*os.File, []byte) (int, error) { return 0, syscall.ENOSPC } })
	require.Error(t, put(t.Context(), a, []byte("x\n")))
	// The volume of the test has room: the next look at it says so.
	soon(t, func() bool {
		seen.mu.Lock()
		defer seen.mu.Unlock()
		return len(seen.health) == 2 && seen.health[1] == nil
	}, "healthy again")
}

// A partial write that cannot be taken back must not have anything appended to it.
func TestTruncateFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	fs := &faultFS{}
	opts := testOptions(path)
	opts.fs = fs
	a := mustOpen(t, opts)
	require.NoError(t, put(t.Context(), a, []byte("before\n")))

	fs.set(func(fs *faultFS) {
		fs.write = func(f *os.File, line []byte) (int, error) {
			n, _ := f.Write(line[:3])
			return n, syscall.ENOSPC
		}
		fs.truncate = func(*os.File, int64) error { return syscall.EIO }
	})
	require.ErrorIs(t, put(t.Context(), a, []byte("during\n")), syscall.ENOSPC)
	fs.set(func(fs *faultFS) { fs.write = nil })
	require.ErrorIs(t, put(t.Context(), a, []byte("later\n")), syscall.EIO)
	assert.Equal(t, "before\ndur", content(t, path))

	fs.set(func(fs *faultFS) { fs.truncate = nil })
	soon(t, func() bool { return put(t.Context(), a, []byte("later\n")) == nil }, "repaired")
	assert.Equal(t, "before\nlater\n", content(t, path))
	assert.NoFileExists(t, path+".torn", "a line that was taken back is not torn: its client knows")
}

// An error of a write does not say that nothing is there: a network file system may have got the
// line and lost the answer. The retry must find it.
func TestWriteFailsButLineIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	fs, seen := &faultFS{}, &counts{}
	opts := testOptions(path)
	opts.fs, opts.Observer = fs, seen
	a := mustOpen(t, opts)
	fs.set(func(fs *faultFS) {
		fs.write = func(f *os.File, line []byte) (int, error) {
			_, _ = f.Write(line)
			return 0, syscall.EIO
		}
	})
	require.ErrorIs(t, put(t.Context(), a, []byte("line\n")), syscall.EIO)
	fs.set(func(fs *faultFS) { fs.write = nil })
	require.NoError(t, put(t.Context(), a, []byte("line\n")))
	assert.Equal(t, "line\n", content(t, path))
	assert.Equal(t, 1, seen.duplicates)
}

func TestStaleHandle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	fs := &faultFS{}
	opts := testOptions(path)
	opts.fs = fs
	a := mustOpen(t, opts)
	require.NoError(t, put(t.Context(), a, []byte("before\n")))
	fs.set(func(fs *faultFS) {
		fs.write = func(*os.File, []byte) (int, error) { return 0, syscall.ESTALE }
	})
	err := put(t.Context(), a, []byte("line\n"))
	assert.Equal(t, ReasonStale, Reason(err))
	fs.set(func(fs *faultFS) { fs.write = nil })
	require.NoError(t, put(t.Context(), a, []byte("line\n")), "opened anew")
	assert.Equal(t, "before\nline\n", content(t, path))
}

func TestHangingWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	fs, seen := &faultFS{}, &counts{}
	opts := testOptions(path)
	opts.fs, opts.Observer = fs, seen
	opts.WriteTimeout = 200 * time.Millisecond
	a := mustOpen(t, opts)

	answer := make(chan struct{})
	fs.set(func(fs *faultFS) {
		fs.write = func(f *os.File, line []byte) (int, error) {
			<-answer
			return f.Write(line)
		}
	})
	var both sync.WaitGroup
	for _, line := range []string{"hung\n", "behind\n"} {
		both.Go(func() {
			assert.ErrorIs(t, put(t.Context(), a, []byte(line)), ErrHanging)
		})
		time.Sleep(20 * time.Millisecond) // in this order
	}
	both.Wait()
	// While it lasts nobody waits: not the retry of the line, nor another one.
	for _, line := range []string{"hung\n", "other\n"} {
		soon(t, func() bool { return a.hanging() != nil }, "hanging")
		begin := time.Now()
		require.ErrorIs(t, put(t.Context(), a, []byte(line)), ErrHanging)
		assert.Less(t, time.Since(begin), opts.WriteTimeout)
	}
	fs.set(func(fs *faultFS) { fs.write = nil })
	close(answer)
	soon(t, func() bool { return a.hanging() == nil }, "over")
	require.NoError(t, put(t.Context(), a, []byte("hung\n")))
	require.NoError(t, put(t.Context(), a, []byte("after\n")))
	assert.Equal(t, "hung\nafter\n", content(t, path), "the hung line once, the given up ones never")
	assert.Equal(t, 1, seen.duplicates)
}

func TestCloseDoesNotWaitForAHangingDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	fs := &faultFS{}
	opts := testOptions(path)
	opts.fs = fs
	opts.WriteTimeout = 100 * time.Millisecond
	a, err := Open(t.Context(), opts)
	require.NoError(t, err)
	answer := make(chan struct{})
	fs.set(func(fs *faultFS) {
		fs.write = func(f *os.File, line []byte) (int, error) {
			<-answer
			return f.Write(line)
		}
	})
	require.ErrorIs(t, put(t.Context(), a, []byte("hung\n")), ErrHanging)
	require.ErrorIs(t, a.Close(t.Context()), ErrHanging)

	// Until the disk answers the file has a writer: the next one must wait for it.
	opts.fs = nil
	opts.LockTimeout = 50 * time.Millisecond
	_, err = Open(t.Context(), opts)
	require.ErrorIs(t, err, ErrLocked)
	close(answer)
	<-a.stopped
	b := mustOpen(t, opts)
	require.NoError(t, put(t.Context(), b, []byte("next\n")))
	assert.Equal(t, "hung\nnext\n", content(t, path))
}

func TestClientGivesUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	fs := &faultFS{}
	opts := testOptions(path)
	opts.fs = fs
	a := mustOpen(t, opts)
	answer := make(chan struct{})
	fs.set(func(fs *faultFS) {
		fs.write = func(f *os.File, line []byte) (int, error) {
			<-answer
			return f.Write(line)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	go func() { first <- put(ctx, a, []byte("line\n")) }()
	time.Sleep(20 * time.Millisecond)
	retry := make(chan error)
	go func() { retry <- put(t.Context(), a, []byte("line\n")) }()
	time.Sleep(20 * time.Millisecond)
	cancel()
	require.ErrorIs(t, <-first, context.Canceled)
	close(answer)
	require.NoError(t, <-retry, "the copy waits for the first one's result")
	assert.Equal(t, "line\n", content(t, path))
}

// openInTheEnd opens the file as a supervisor would that starts the process again: a disk that fails
// while the file is opened fails Open, and that must leave no lock behind.
func openInTheEnd(t *testing.T, opts Options) *Appender {
	t.Helper()
	var err error
	for range 50 { // each fails by chance in about a tenth of the cases
		var a *Appender
		if a, err = Open(t.Context(), opts); err == nil {
			t.Cleanup(func() { _ = a.Close(t.Context()) })
			return a
		}
		require.ErrorIs(t, err, syscall.EIO)
	}
	require.NoError(t, err)
	return nil
}

// Many clients on a file system that does everything wrong now and then: each line is there once,
// in the end, and a strict reader never met a bad one.
func TestRandomFaults(t *testing.T) {
	for _, durability := range []Durability{DurabilityWrite, DurabilitySync} {
		t.Run(string(durability), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "traces.jsonl")
			opts := testOptions(path)
			opts.Durability, opts.fs = durability, randomFaults(t)
			opts.RetryLines = 100000
			a := openInTheEnd(t, opts)

			stop := watch(t, path)
			var clients sync.WaitGroup
			const perClient = 60
			for c := range 8 {
				clients.Go(func() {
					for i := range perClient {
						line := fmt.Appendf(nil, "<%d-%d %s>\n", c, i, strings.Repeat("x", i*50))
						for put(t.Context(), a, line) != nil {
							time.Sleep(time.Millisecond)
						}
					}
				})
			}
			clients.Wait()
			stop()
			seen := map[string]int{}
			for line := range strings.Lines(content(t, path)) {
				seen[strings.Fields(line)[0]]++
			}
			assert.Len(t, seen, 8*perClient)
			for line, n := range seen {
				assert.Equal(t, 1, n, line)
			}
		})
	}
}
