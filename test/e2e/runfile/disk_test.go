//go:build linux

package runfile

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

// fill writes a file until the volume is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	block := make([]byte, 4096)
	for {
		if _, err := f.Write(block); err != nil {
			require.ErrorIs(t, err, syscall.ENOSPC)
			return
		}
	}
}

// A full disk: the client hears so, and when there is space again everything goes on without a
// restart; nothing acknowledged is missing, nothing is there twice.
func TestFullDisk(t *testing.T) {
	for _, durability := range []string{"write", "sync"} {
		t.Run(durability, func(t *testing.T) {
			dir := harness.MountTmpfs(t, "size=24m")
			path, ballast := filepath.Join(dir, "traces.jsonl"), filepath.Join(dir, "ballast")
			col := startCollector(t, freePort(t), "path: "+path, "durability: "+durability)
			c := newClients(t, col.endpoint)
			r := readAlong(t, path)
			c.load(t, 4)
			for round := 1; round <= 3; round++ {
				c.awaitMore(t, 200)
				fill(t, ballast)
				require.Eventually(t, func() bool { return c.refusals("503") > 0 && c.refusals("no space left") >= 10*round },
					20*time.Second, 5*time.Millisecond, "refused: %v", c)
				require.NoError(t, os.Remove(ballast))
			}
			c.awaitMore(t, 200)
			c.end()
			r.finish(t, c.got(), true)
			assert.Equal(t, c.refusals(""), c.refusals("503"), "every refusal is worth a retry: %v", c)
			require.NoError(t, col.terminate(t))
			assert.NoFileExists(t, path+".torn")
		})
	}
}

// A disk that is full at the start, with a torn line to move, which needs space.
func TestFullDiskAtStart(t *testing.T) {
	dir := harness.MountTmpfs(t, "size=1m")
	path, ballast := filepath.Join(dir, "traces.jsonl"), filepath.Join(dir, "ballast")
	half := strings.TrimSuffix(lineOf("torn"), "]}]}\n")
	require.NoError(t, os.WriteFile(path, []byte(half), 0o600))
	fill(t, ballast)
	col := startCollector(t, freePort(t), "path: "+path)
	c := newClients(t, col.endpoint)
	c.load(t, 1)
	require.Eventually(t, func() bool { return c.refusals("no space left") > 0 }, 10*time.Second, 5*time.Millisecond)
	require.NoError(t, os.Remove(ballast))
	c.awaitMore(t, 1)
	c.end()
	readAlong(t, path).finish(t, c.got(), true)
	torn, err := os.ReadFile(path + ".torn")
	require.NoError(t, err)
	assert.Equal(t, half+"\n", string(torn))
}

// The start fails, with an error that names the path and what is wrong.
func TestCannotStart(t *testing.T) {
	readOnly := harness.MountTmpfs(t, "ro")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for name, tc := range map[string]struct {
		settings []string
		want     []string
	}{
		"a read-only folder":  {[]string{"path: " + readOnly + "/traces.jsonl"}, []string{readOnly, "read-only file system"}},
		"a path below a file": {[]string{"path: " + file + "/traces.jsonl"}, []string{file, "not a directory"}},
		"a folder that is missing": {
			[]string{"path: " + file + "-missing/traces.jsonl", "create_directory: false"},
			[]string{file + "-missing", "create_directory"},
		},
		"a bad setting": {[]string{"path: x", "durability: sometimes"}, []string{"durability", "sometimes"}},
	} {
		t.Run(name, func(t *testing.T) {
			col := launch(t, freePort(t), nil, tc.settings...)
			require.Error(t, col.wait(t))
			for _, want := range tc.want {
				assert.Contains(t, col.Log(), want)
			}
		})
	}
}

// The folder goes away while the collector runs: it comes back with the file in it.
func TestFolderRemoved(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	path := filepath.Join(folder, "traces.jsonl")
	col := startCollector(t, freePort(t), "path: "+path)
	c := newClients(t, col.endpoint)
	require.NoError(t, os.RemoveAll(folder))
	require.Eventually(t, func() bool { _, err := os.Stat(path); return err == nil }, 2*time.Second, 5*time.Millisecond)
	c.load(t, 2)
	c.awaitMore(t, 50)
	c.end()
	readAlong(t, path).finish(t, c.got(), true)
	require.NoError(t, col.terminate(t))
}

// Two collectors on one path: the second is refused, and told who has it.
func TestTwoCollectors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	first := startCollector(t, freePort(t), "path: "+path)
	c := newClients(t, first.endpoint)
	r := readAlong(t, path)
	c.load(t, 2)
	c.awaitMore(t, 10)
	second := launch(t, freePort(t), nil, "path: "+path, "lock_timeout: 500ms")
	require.Error(t, second.wait(t))
	for _, want := range []string{path, "another writer", "process " + strconv.Itoa(first.PID()), "lock_timeout"} {
		assert.Contains(t, second.Log(), want)
	}
	c.awaitMore(t, 10)
	c.end()
	r.finish(t, c.got(), true)

	// One that waits gets the file when the first is gone.
	third := launch(t, freePort(t), nil, "path: "+path)
	time.Sleep(300 * time.Millisecond)
	require.NoError(t, first.terminate(t))
	third.awaitReady(t)
	require.NoError(t, third.terminate(t))
}
