package tracefile

import (
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

// No goroutine gets the main thread, however many are stuck in the kernel at once.
func TestMainThreadIsFree(t *testing.T) {
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			assert.NotEqual(t, os.Getpid(), unix.Gettid())
			pause := unix.NsecToTimespec(20e6)
			_ = unix.Nanosleep(&pause, nil)
		})
	}
	all.Wait()
}
