package tracefile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWriter(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b", "traces.jsonl")
	other := filepath.Join(dir, "a", "other.jsonl")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	for _, file := range []string{path, other} {
		require.NoError(t, os.WriteFile(file, []byte("x\n"), 0o600))
	}
	requireWriter := func(file, want string) {
		t.Helper()
		who, err := Writer(file)
		require.NoError(t, err)
		if want == "" {
			require.Empty(t, who)
		} else {
			require.Contains(t, who, want)
		}
	}
	requireWriter(path, "")

	hold := func(file string) *fileLock {
		t.Helper()
		lock, err := tryLock(lockPath(file), flockExclusive)
		require.NoError(t, err)
		return lock
	}
	lock := hold(path)
	requireWriter(path, "process ")
	requireWriter(other, "")
	lock.release()
	requireWriter(path, "")

	// That of another file, which is there, says nothing about this one.
	lock = hold(other)
	requireWriter(other, "process ")
	requireWriter(path, "")
	lock.release()

	// That of a path with placeholders is in a folder above.
	lock = hold(filepath.Join(dir, "a", "{run.id}"))
	requireWriter(path, "process ")
	requireWriter(other, "process ")
	lock.release()
	requireWriter(path, "")

	// Somebody else's.
	foreign := filepath.Join(dir, "package-manager.lock")
	require.NoError(t, os.WriteFile(foreign, []byte("4711\n"), 0o600))
	f, err := os.Open(foreign)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, flockExclusive(f))
	requireWriter(path, "")

	t.Chdir(filepath.Dir(path))
	lock = hold(path)
	defer lock.release()
	requireWriter("traces.jsonl", "process ")
}

func TestRemoveLive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	a := mustOpen(t, testOptions(path))
	require.ErrorIs(t, RemoveLive(path), ErrLocked)
	require.FileExists(t, path)
	require.NoError(t, a.Close(t.Context()))
	require.NoError(t, os.WriteFile(path+".torn", []byte("x"), 0o600))

	require.NoError(t, RemoveLive(path))
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Empty(t, left)
	require.ErrorIs(t, RemoveLive(path), os.ErrNotExist)

	// A collector that starts afterwards has its file and its lock.
	a = mustOpen(t, testOptions(path))
	_, err = a.Append(t.Context(), []byte("{}\n"))
	require.NoError(t, err)
	require.NoError(t, a.Close(t.Context()))
}
