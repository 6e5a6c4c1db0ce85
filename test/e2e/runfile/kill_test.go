//go:build linux

package runfile

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// rounds is 10, and 50 with RUNSPAN_E2E=full.
func rounds() int {
	if os.Getenv("RUNSPAN_E2E") == "full" {
		return 50
	}
	return 10
}

// TestKill kills the collector at random moments, again and again on one file, while several clients
// send. Spans may be there twice: the collector forgets at its death what it wrote, and a client
// that got no answer sends again.
func TestKill(t *testing.T) {
	for _, durability := range []string{"write", "sync"} {
		t.Run(durability, func(t *testing.T) {
			n := rounds()
			if durability == "sync" {
				n /= 5
			}
			path := filepath.Join(t.TempDir(), "traces.jsonl")
			endpoint := freePort(t)
			c := newClients(t, endpoint)
			r := readAlong(t, path)
			c.load(t, 6)
			for range n {
				col := startCollector(t, endpoint, "path: "+path, "durability: "+durability)
				c.awaitMore(t, 50)
				time.Sleep(rand.N(300 * time.Millisecond))
				col.Kill()
			}
			last := startCollector(t, endpoint, "path: "+path)
			c.awaitMore(t, 50)
			c.end()
			r.finish(t, c.got(), false)
			require.NoError(t, last.terminate(t))
		})
	}
}

// TestTerminate does the same with SIGTERM: every request in flight is answered or refused.
func TestTerminate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	endpoint := freePort(t)
	c := newClients(t, endpoint)
	r := readAlong(t, path)
	c.load(t, 6)
	for range rounds() / 2 {
		col := startCollector(t, endpoint, "path: "+path)
		c.awaitMore(t, 50)
		time.Sleep(rand.N(300 * time.Millisecond))
		require.NoError(t, col.terminate(t))
		require.NoFileExists(t, path+".torn")
	}
	last := startCollector(t, endpoint, "path: "+path)
	c.awaitMore(t, 50)
	c.end()
	require.NoError(t, last.terminate(t))
	r.finish(t, c.got(), false)
}
