//go:build linux

package runfile

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

// manyRuns has the spans of clients be of n runs, at random.
func (c *clients) manyRuns(n int) {
	c.run = func() string { return fmt.Sprintf("Run %d", rand.IntN(n)) }
}

// fileSpans are the spans in a file, each with its id.
type fileSpans struct {
	path string
	ids  []uint64
}

// readFiles reads the trace files below dir, which must hold whole lines only, the oldest name first.
func readFiles(t *testing.T, dir string) (files []fileSpans) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".jsonl" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file := fileSpans{path: path}
		for line := range bytes.Lines(data) {
			ids, err := parse(bytes.TrimSuffix(line, []byte("\n")))
			if err != nil || !bytes.HasSuffix(line, []byte("\n")) {
				return fmt.Errorf("%s: %w: %.200q", path, err, line)
			}
			file.ids = append(file.ids, ids...)
		}
		files = append(files, file)
		return nil
	})
	require.NoError(t, err)
	return files
}

// checkFiles says that each acknowledged span is in a file; exactly once if `once`.
func checkFiles(t *testing.T, files []fileSpans, acknowledged []uint64, once bool) {
	t.Helper()
	seen := map[uint64]int{}
	for _, file := range files {
		for _, id := range file.ids {
			seen[id]++
		}
	}
	missing, twice := 0, 0
	for _, id := range acknowledged {
		if seen[id] == 0 {
			missing++
		}
	}
	for _, n := range seen {
		if n > 1 {
			twice++
		}
	}
	assert.Zero(t, missing, "acknowledged spans that are in no file")
	if once {
		assert.Zero(t, twice, "spans that are there twice")
	}
	assert.NotEmpty(t, acknowledged)
	t.Logf("%d spans acknowledged, %d in %d files, %d twice", len(acknowledged), len(seen), len(files), twice)
}

// Kill -9 under load with 2,000 runs through 64 open files.
func TestKillWithManyRuns(t *testing.T) {
	dir := t.TempDir()
	settings := []string{"path: " + dir + "/{run.id}/traces.jsonl", "max_open_files: 64"}
	endpoint := freePort(t)
	c := newClients(t, endpoint)
	c.manyRuns(2000)
	// Some of the runs are read while they are written.
	var readers []*reader
	for i := range 5 {
		readers = append(readers, readAlong(t, fmt.Sprintf("%s/%%52un%%20%d/traces.jsonl", dir, i)))
	}
	c.load(t, 6)
	for range rounds() / 2 {
		col := startCollector(t, endpoint, settings...)
		c.awaitMore(t, 4000)
		time.Sleep(rand.N(300 * time.Millisecond))
		col.Kill()
	}
	last := startCollector(t, endpoint, settings...)
	c.awaitMore(t, 4000)
	c.end()
	require.NoError(t, last.terminate(t))
	// A file that was torn is repaired when it is written to: every run once more.
	last = startCollector(t, endpoint, settings...)
	for i := range 2000 {
		c.run = func() string { return fmt.Sprintf("Run %d", i) }
		body, ids := c.request(1)
		c.deliver(t.Context(), body, ids)
	}
	require.NoError(t, last.terminate(t))
	for _, r := range readers {
		r.halt()
		r.look()
		require.NoError(t, r.err)
		assert.NotEmpty(t, r.spans)
	}
	files := readFiles(t, dir)
	assert.Len(t, files, 2000)
	checkFiles(t, files, c.got(), false)
}

// A full disk with a file a run: clients hear so, and nothing acknowledged is missing or there twice.
func TestFullDiskWithManyRuns(t *testing.T) {
	dir := harness.MountTmpfs(t, "size=24m")
	ballast := filepath.Join(dir, "ballast")
	col := startCollector(t, freePort(t), "path: "+dir+"/{run.id}.jsonl", "max_open_files: 16")
	c := newClients(t, col.endpoint)
	c.manyRuns(100)
	c.load(t, 4)
	for round := 1; round <= 3; round++ {
		c.awaitMore(t, 500)
		fill(t, ballast)
		require.Eventually(t, func() bool { return c.refusals("no space left") >= 10*round },
			20*time.Second, 5*time.Millisecond, "refused: %v", c)
		require.NoError(t, os.Remove(ballast))
	}
	c.awaitMore(t, 500)
	c.end()
	assert.Equal(t, c.refusals(""), c.refusals("503"), "every refusal is worth a retry: %v", c)
	require.NoError(t, col.terminate(t))
	checkFiles(t, readFiles(t, dir), c.got(), true)
	torn, err := filepath.Glob(dir + "/*.torn")
	require.NoError(t, err)
	assert.Empty(t, torn)
}

// minFreeTime is how long TestMinFree writes: 15 s, or what RUNSPAN_E2E_MIN_FREE says, for example 10m.
func minFreeTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("RUNSPAN_E2E_MIN_FREE")
	if text == "" {
		return 15 * time.Second
	}
	d, err := time.ParseDuration(text)
	require.NoError(t, err, "RUNSPAN_E2E_MIN_FREE")
	return d
}

// min_free keeps a small volume open under steady load: no client is refused, and what is deleted is
// the oldest.
func TestMinFree(t *testing.T) {
	const volume, minFree = 64 << 20, 24 << 20
	for name, settings := range map[string][]string{
		"segments": {"path: %s/traces.jsonl", "rotation: {max_bytes: 2097152}"},
		"runs":     {"path: %s/{run.id}/traces.jsonl", "rotation: {max_bytes: 2097152}", "max_open_files: 8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := harness.MountTmpfs(t, fmt.Sprintf("size=%d", volume))
			settings := append(slices.Clone(settings), fmt.Sprintf("retention: {min_free: %d, run_idle: 2s}", minFree))
			settings[0] = fmt.Sprintf(settings[0], dir)
			col := startCollector(t, freePort(t), settings...)
			c := newClients(t, col.endpoint)
			var now atomic.Int64 // five runs at a time, each for some seconds
			c.run = func() string { return fmt.Sprintf("run-%d", now.Load()+rand.Int64N(5)) }
			c.pause = 20 * time.Millisecond // some 5 MB/s: the volume holds more than what is not idle
			c.load(t, 2)

			least, deadline := uint64(volume), time.Now().Add(minFreeTime(t))
			for time.Now().Before(deadline) {
				time.Sleep(100 * time.Millisecond)
				now.Store(time.Now().Unix() / 2)
				var st syscall.Statfs_t
				require.NoError(t, syscall.Statfs(dir, &st))
				least = min(least, st.Bavail*uint64(st.Bsize))
			}
			c.end()
			require.NoError(t, col.terminate(t))
			assert.Zero(t, c.refusals(""), "nobody was refused: %v", c)
			assert.Contains(t, col.Log(), "past its retention")
			assert.Less(t, least, uint64(minFree+8<<20), "the volume was never full enough: this shows nothing")
			t.Logf("at least %d MiB were free", least>>20)

			files := readFiles(t, dir)
			acknowledged := c.got()
			// What is newer than all of the oldest files is there.
			oldest := oldestIDs(files)
			acknowledged = slices.DeleteFunc(acknowledged, func(id uint64) bool { return id <= oldest })
			checkFiles(t, files, acknowledged, true)
		})
	}
}

// oldestIDs returns an id from which on no span may be missing: retention deletes a file after all
// that were written before it, and clients have a few hundred spans on their way.
func oldestIDs(files []fileSpans) uint64 {
	last := map[string]uint64{}
	for _, file := range files {
		if len(file.ids) > 0 {
			last[file.path] = slices.Max(file.ids)
		}
	}
	return slices.Min(slices.Collect(maps.Values(last))) + 1000
}
