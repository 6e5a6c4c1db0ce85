package tracefile

import (
	"os"
	"path/filepath"
	"testing"
	"time"

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

	// That of all runs is in a folder above. It has the files of idle runs, too, but does not write them.
	lock, err := tryLock(filepath.Join(dir, runsLockName), flockExclusive)
	require.NoError(t, err)
	requireWriter(path, "process ")
	requireWriter(other, "process ")
	long := time.Now().Add(-DefaultRunIdle - time.Minute)
	require.NoError(t, os.Chtimes(path, long, long))
	requireWriter(path, "")
	lock.release()
	requireWriter(other, "")

	t.Chdir(filepath.Dir(path))
	lock = hold("traces.jsonl")
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
