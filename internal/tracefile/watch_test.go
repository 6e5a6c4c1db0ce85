package tracefile

import (
	"bytes"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// randomFaults fails a tenth of everything. The seed is in the test's output.
func randomFaults(t *testing.T) *faultFS {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	var mu sync.Mutex
	dice := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(n)
	}
	return &faultFS{
		write: func(f *os.File, line []byte) (int, error) {
			errs := []error{syscall.ENOSPC, syscall.EIO, syscall.ESTALE, syscall.EDQUOT}
			switch dice(20) {
			case 0:
				n, _ := f.Write(line[:dice(len(line))])
				return n, errs[dice(len(errs))]
			case 1: // all of it, and an error
				n, _ := f.Write(line)
				return n, errs[dice(len(errs))]
			}
			return f.Write(line)
		},
		sync: func(*os.File) error {
			if dice(10) == 0 {
				return syscall.EIO
			}
			return nil
		},
		truncate: func(*os.File, int64) error {
			if dice(4) == 0 {
				return syscall.EIO
			}
			return nil
		},
	}
}

// watch is a strict reader: it polls the file from its place, takes whole lines only, and each
// must be one of the test's. It returns what ends it.
func watch(t *testing.T, path string) (stop func()) {
	t.Helper()
	done, ended := make(chan struct{}), make(chan struct{})
	var place int64
	look := func() bool {
		f, err := os.Open(path)
		if err != nil {
			return assert.NoError(t, err)
		}
		defer func() { _ = f.Close() }()
		info, err := f.Stat()
		if err != nil || !assert.GreaterOrEqual(t, info.Size(), place, "whole lines were taken back") {
			return false
		}
		data := make([]byte, info.Size()-place)
		n, _ := f.ReadAt(data, place)
		for {
			line, rest, whole := bytes.Cut(data[:n], []byte("\n"))
			if !whole {
				return true
			}
			if !assert.Regexp(t, `^<\d+-\d+ x*>$`, string(line)) {
				return false
			}
			place += int64(len(line)) + 1
			n -= len(line) + 1
			data = rest
		}
	}
	go func() {
		defer close(ended)
		for look() {
			select {
			case <-done:
				look()
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	return func() {
		close(done)
		<-ended
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, info.Size(), place, "the reader is at the end")
	}
}
