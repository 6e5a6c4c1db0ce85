package cli

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Each set of files has a cache of its own, by whatever path it is named.
func TestCacheOfFiles(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", "")
	t.Chdir(home)
	a := cacheOf([]string{"a.jsonl"})
	assert.Contains(t, a, filepath.Join(home, ""))
	assert.Equal(t, a, cacheOf([]string{filepath.Join(home, "a.jsonl")}))
	assert.NotEqual(t, a, cacheOf([]string{"b.jsonl"}))
	assert.NotEqual(t, a, cacheOf([]string{"a.jsonl", "b.jsonl"}))
	t.Setenv("HOME", "")
	assert.Empty(t, cacheOf([]string{"a.jsonl"}))
}
