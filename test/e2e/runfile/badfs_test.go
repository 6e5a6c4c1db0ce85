//go:build linux

package runfile

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/runfile/badfs"

	"github.com/runspan/runspan/test/e2e/harness"
)

// mountBad mounts a bad file system for the test.
func mountBad(t *testing.T) (b *badfs.FS, dir string) {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip("no /dev/fuse here: " + err.Error())
	}
	dir = t.TempDir()
	b, err := badfs.Mount(t.TempDir(), dir)
	if err != nil {
		harness.Missing(t, "a FUSE mount", "run as root: "+err.Error())
	}
	t.Cleanup(func() { assert.NoError(t, b.Unmount()) })
	return b, dir
}

// hang makes the file system hang until release is called, at the latest at the test's end: before a
// collector is killed, for a process does not end before its calls into the kernel do.
func hang(t *testing.T, b *badfs.FS) (release func()) {
	t.Helper()
	answer := make(chan struct{})
	var once sync.Once
	release = func() {
		once.Do(func() {
			b.Set(badfs.Faults{})
			close(answer)
		})
	}
	t.Cleanup(release)
	b.Set(badfs.Faults{Hang: answer})
	return release
}

// On a file system that does everything wrong in turn, nothing acknowledged is missing, nothing is
// there twice, and somebody who reads along never meets a bad line that stays.
func TestBadFileSystem(t *testing.T) {
	for _, durability := range []string{"write", "sync"} {
		t.Run(durability, func(t *testing.T) {
			b, dir := mountBad(t)
			path := filepath.Join(dir, "traces.jsonl")
			col := startCollector(t, freePort(t), "path: "+path, "durability: "+durability,
				"write_timeout: 1s", "sync_interval: 50ms")
			c := newClients(t, col.endpoint)
			r := readAlong(t, path)
			c.load(t, 6)
			refused := func(text string) {
				t.Helper()
				before := c.refusals(text)
				require.Eventually(t, func() bool { return c.refusals(text) > before+3 }, 20*time.Second, 5*time.Millisecond,
					"%q: %v", text, c)
			}
			good := func() {
				t.Helper()
				b.Set(badfs.Faults{})
				c.awaitMore(t, 200)
			}
			good()
			b.Set(badfs.Faults{Delay: 20 * time.Millisecond})
			c.awaitMore(t, 200)
			b.Set(badfs.Faults{LatePages: 300 * time.Millisecond})
			c.awaitMore(t, 1000)

			b.Set(badfs.Faults{WriteHalf: syscall.EIO})
			refused("input/output error")
			good()
			b.Set(badfs.Faults{WriteHalf: syscall.ENOSPC})
			refused("no space left")
			good()
			b.Set(badfs.Faults{WriteHalf: syscall.ENOSPC, FailTruncate: syscall.EIO})
			refused("input/output error") // after the first nothing is written behind the half line
			good()
			b.Set(badfs.Faults{FailSync: syscall.EIO})
			refused("fsync")
			good()
			b.Stale()
			c.awaitMore(t, 200)

			release := hang(t, b)
			refused("hangs")
			release()
			c.awaitMore(t, 200)

			c.end()
			r.finish(t, c.got(), true)
			assert.Positive(t, r.again, "no page was late: the reader was not put to the test")
			assert.Equal(t, c.refusals(""), c.refusals("503"), "every refusal is worth a retry: %v", c)
			require.NoError(t, col.terminate(t))
		})
	}
}

// The shutdown does not wait for a disk that hangs.
func TestShutdownWhileHanging(t *testing.T) {
	b, dir := mountBad(t)
	path := filepath.Join(dir, "traces.jsonl")
	col := startCollector(t, freePort(t), "path: "+path, "write_timeout: 500ms")
	c := newClients(t, col.endpoint)
	c.load(t, 2)
	c.awaitMore(t, 10)
	release := hang(t, b)
	require.Eventually(t, func() bool { return c.refusals("hangs") > 0 }, 20*time.Second, 5*time.Millisecond)
	c.end()
	col.Terminate()
	require.Eventually(t, func() bool {
		return strings.Contains(col.Log(), "closing it: the disk hangs")
	}, 10*time.Second, 5*time.Millisecond)
	release() // a process does not end before its calls into the kernel do
	_ = col.wait(t)
	readAlong(t, path).finish(t, c.got(), true)
}

// With durability sync an acknowledged span survives a power cut; with write it need not, which
// shows that this test can fail.
func TestPowerCut(t *testing.T) {
	missing := func(t *testing.T, durability string) (missing int) {
		t.Helper()
		b, dir := mountBad(t)
		path := filepath.Join(dir, "traces.jsonl")
		col := startCollector(t, freePort(t), "path: "+path, "durability: "+durability, "sync_interval: 0")
		c := newClients(t, col.endpoint)
		c.load(t, 6)
		c.awaitMore(t, 500)
		col.Kill()
		c.end()
		require.NoError(t, b.PowerCut())
		col = startCollector(t, freePort(t), "path: "+path)
		r := readAlong(t, path)
		time.Sleep(50 * time.Millisecond)
		r.halt()
		r.look()
		require.NoError(t, r.err)
		for _, id := range c.got() {
			if r.spans[id] == 0 {
				missing++
			}
		}
		require.NoError(t, col.terminate(t))
		return missing
	}
	assert.Zero(t, missing(t, "sync"), "acknowledged, and not on the disk")
	assert.Positive(t, missing(t, "write"), "nothing was lost without a sync: the file system syncs by itself")
}
