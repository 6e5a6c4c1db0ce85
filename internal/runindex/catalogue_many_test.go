package runindex

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// With more files than are looked at each time, one that was cold grows, and one comes and goes.
func TestCatalogueOfManyFiles(t *testing.T) {
	folder := t.TempDir()
	c := catalogueOf(t, Options{Files: []string{filepath.Join(folder, "*", "traces.jsonl")}})
	var paths []string
	for i := range 3 * mostHot {
		run := fmt.Sprintf("run-%03d", i)
		path := filepath.Join(folder, run, "traces.jsonl")
		require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
		appendTo(t, path, newWriter(run, run+" too").line())
		paths = append(paths, path)
	}
	catchUp(t, c)
	requireTruth(t, c, paths...)
	require.Len(t, c.hot, mostHot)
	for _, i := range []int{0, mostHot, len(paths) - 1} {
		appendTo(t, paths[i], newWriter("run", "other").line())
		c.lookAtAll(t)
		requireTruth(t, c, paths...)
		assert.Equal(t, paths[i], c.hot[0].path)
		appendTo(t, paths[i], newWriter("run", "other").lines(2))
		c.nextLook = time.Now().Add(time.Hour)
		c.update(t.Context())
		requireTruth(t, c, paths...)
	}
	require.NoError(t, os.Remove(paths[5]))
	catchUp(t, c)
	requireTruth(t, c, append(paths[:5:5], paths[6:]...)...)
}

// BenchmarkLook is a look at all of 10,000 files, of which none has changed.
func BenchmarkLook(b *testing.B) {
	folder := b.TempDir()
	for i := range 10_000 {
		run := fmt.Sprintf("run-%05d", i)
		path := filepath.Join(folder, run, "traces.jsonl")
		require.NoError(b, os.Mkdir(filepath.Dir(path), 0o700))
		require.NoError(b, os.WriteFile(path, []byte(newWriter(run).line()), 0o600))
	}
	c, err := Open(Options{Files: []string{filepath.Join(folder, "*", "traces.jsonl")}})
	require.NoError(b, err)
	c.update(b.Context())
	for b.Loop() {
		c.look(time.Now())
	}
}
