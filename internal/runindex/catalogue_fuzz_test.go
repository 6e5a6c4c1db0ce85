package runindex

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzCatalogue reads any bytes as a file, in two parts, as a person's file may grow, and from a cache of
// the first part.
func FuzzCatalogue(f *testing.F) {
	w := newWriter("a", "b", "")
	f.Add([]byte(w.lines(3)), 100)
	f.Add([]byte(w.line()+"\n\n\x00\x00\n{}\n"+w.line()), 3)
	f.Add([]byte(strings.Repeat("[", 1000)+"\n"+w.line()[1:]), 500)
	f.Add([]byte("\xff\n"+w.line()), 1)
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		text := []byte(w.lines(4))
		for range 3 {
			text[random.IntN(len(text))] = byte(random.IntN(256))
		}
		f.Add(text, random.IntN(len(text)))
	}
	f.Fuzz(func(t *testing.T, text []byte, at int) {
		at = max(0, min(at, len(text)))
		dir := t.TempDir()
		path := filepath.Join(dir, "traces.jsonl")
		c, _ := withCache(t, dir, path)
		c.settle = 0 // what is there is there
		require.NoError(t, os.WriteFile(path, text[:at], 0o600))
		c.lookAtAll(t)
		c.closeCache()
		appendTo(t, path, string(text[at:]))
		for range 2 {
			c, _ = withCache(t, dir, path)
			c.settle = 0
			c.lookAtAll(t)
			c.lookAtAll(t)
			requireTruth(t, c, path)
			c.closeCache()
		}
	})
}
