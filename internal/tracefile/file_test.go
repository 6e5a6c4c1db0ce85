package tracefile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func exists(path string) func() bool {
	return func() bool { _, err := os.Stat(path); return err == nil }
}

// within a second, the contract says.
func withinASecond(t *testing.T, ok func() bool, what string) {
	t.Helper()
	require.Eventually(t, ok, time.Second, 5*time.Millisecond, what)
}

func TestDeletedWhileIdle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	seen := &counts{}
	opts := testOptions(path)
	opts.Observer = seen
	a := mustOpen(t, opts)
	require.NoError(t, os.Remove(path))
	withinASecond(t, exists(path), "made anew")
	require.NoError(t, put(t.Context(), a, []byte("line\n")))
	assert.Equal(t, "line\n", content(t, path))
	assert.Len(t, seen.recreated, 1)
}

func TestRenamed(t *testing.T) {
	for _, durability := range []Durability{DurabilityWrite, DurabilitySync} {
		t.Run(string(durability), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "traces.jsonl")
			opts := testOptions(path)
			opts.Durability = durability
			a := mustOpen(t, opts)
			require.NoError(t, put(t.Context(), a, []byte("old\n")))
			require.NoError(t, os.Rename(path, path+".1"))
			withinASecond(t, exists(path), "made anew")
			require.NoError(t, put(t.Context(), a, []byte("new\n")))
			assert.Equal(t, "old\n", content(t, path+".1"))
			assert.Equal(t, "new\n", content(t, path))
		})
	}
}

func TestAnotherFileTakesItsPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	a := mustOpen(t, testOptions(path))
	require.NoError(t, os.WriteFile(path+".new", []byte("theirs\nto"), 0o600))
	require.NoError(t, os.Rename(path+".new", path))
	withinASecond(t, func() bool { return content(t, path) == "theirs\n" }, "its torn end moved aside")
	require.NoError(t, put(t.Context(), a, []byte("mine\n")))
	assert.Equal(t, "theirs\nmine\n", content(t, path))
}

// Lines that were acknowledged between the deletion and its discovery are in the new file.
func TestDeletedUnderLoad(t *testing.T) {
	for _, durability := range []Durability{DurabilityWrite, DurabilitySync} {
		t.Run(string(durability), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "traces.jsonl")
			opts := testOptions(path)
			opts.Durability = durability
			a := mustOpen(t, opts)
			require.NoError(t, put(t.Context(), a, []byte("before\n")))
			time.Sleep(checkEvery + 100*time.Millisecond) // "before" belongs to the deleted file
			require.NoError(t, os.Remove(path))
			var clients sync.WaitGroup
			var want sync.Map
			deadline := time.Now().Add(time.Second)
			for c := range 4 {
				clients.Go(func() {
					for i := 0; time.Now().Before(deadline); i++ {
						line := fmt.Sprintf("%d-%d\n", c, i)
						if assert.NoError(t, put(t.Context(), a, []byte(line))) {
							want.Store(line, true)
						}
						time.Sleep(time.Millisecond)
					}
				})
			}
			clients.Wait()
			got := map[string]int{}
			for line := range strings.Lines(content(t, path)) {
				got[line]++
			}
			n := 0
			want.Range(func(line, _ any) bool {
				n++
				return assert.Equal(t, 1, got[line.(string)], line)
			})
			assert.Len(t, got, n)
		})
	}
}

func TestTruncatedByAnotherProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	seen := &counts{}
	opts := testOptions(path)
	opts.Observer, opts.SyncInterval = seen, time.Hour
	a := mustOpen(t, opts)
	require.NoError(t, put(t.Context(), a, []byte("one\n"), []byte("two\n")))
	require.NoError(t, os.Truncate(path, 0))
	soon(t, func() bool { seen.mu.Lock(); defer seen.mu.Unlock(); return seen.lost == 2 }, "said so")
	require.NoError(t, put(t.Context(), a, []byte("one\n")))
	assert.Equal(t, "one\n", content(t, path), "no hole of zeros before it, and no duplicate of what is gone")
}

func TestFolderRemoved(t *testing.T) {
	for _, create := range []bool{true, false} {
		t.Run(fmt.Sprintf("create_directory %t", create), func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "a", "b")
			require.NoError(t, os.MkdirAll(folder, 0o700))
			path := filepath.Join(folder, "traces.jsonl")
			opts := testOptions(path)
			opts.CreateDirectory = create
			a := mustOpen(t, opts)
			require.NoError(t, os.RemoveAll(folder))
			if !create {
				var err error
				n := 0
				soon(t, func() bool {
					n++
					err = put(t.Context(), a, fmt.Appendf(nil, "%d\n", n))
					return err != nil
				}, "noticed")
				require.ErrorContains(t, err, folder)
				assert.Equal(t, ReasonMissing, Reason(err))
				require.NoError(t, os.MkdirAll(folder, 0o700))
			}
			soon(t, exists(path), "made anew")
			require.NoError(t, put(t.Context(), a, []byte("line\n")))
			assert.Contains(t, content(t, path), "line\n")
			assert.FileExists(t, path+".lock", "and it is locked again")
		})
	}
}

func TestCannotOpen(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for name, tc := range map[string]struct{ path, want string }{
		"no folder":         {filepath.Join(dir, "missing", "traces.jsonl"), "create_directory"},
		"a file, no folder": {filepath.Join(dir, "file", "traces.jsonl"), "not a directory"},
		"a folder":          {dir, "is a directory"},
		"no regular file":   {"/dev/null", "no regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			opts := testOptions(tc.path)
			opts.NoLock = true
			_, err := Open(t.Context(), opts)
			require.ErrorContains(t, err, tc.want)
			require.ErrorContains(t, err, filepath.Base(tc.path))
		})
	}
}
