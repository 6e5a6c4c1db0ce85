package catalogue

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever somebody did to the cache, a viewer that finds it tells what the files hold.
func TestADamagedCacheIsMadeAnew(t *testing.T) {
	t.Parallel()
	c := newChanging(t, live, 2)
	cache := t.TempDir()
	c.put(live, fileOf(t, c.runs...))
	c.showsAgain(cache, "no cache", c.runs...)
	for what, damage := range map[string]func([]byte) []byte{
		"empty":      func([]byte) []byte { return nil },
		"text":       func([]byte) []byte { return []byte("not a cache") },
		"cut in two": func(data []byte) []byte { return data[:len(data)/2] },
		"bytes changed": func(data []byte) []byte {
			for i := len(data) / 3; i < len(data); i += 97 {
				data[i] ^= 0x55
			}
			return data
		},
	} {
		files := 0
		require.NoError(t, filepath.WalkDir(cache, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			files++
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, damage(data), 0o600)
		}))
		require.NotZero(t, files, "there is no cache")
		c.showsAgain(cache, what, c.runs...)
	}
}
