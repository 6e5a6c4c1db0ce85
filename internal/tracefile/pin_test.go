package tracefile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPin(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	segment := SegmentPath(path, pathTestTime, 1)
	pinned := func() bool {
		t.Helper()
		a, err := Pinned(path)
		require.NoError(t, err)
		b, err := Pinned(segment)
		require.NoError(t, err)
		require.Equal(t, a, b, "the whole log or nothing of it")
		return a
	}
	assert.False(t, pinned())
	require.NoError(t, Pin(segment))
	assert.True(t, pinned())
	require.NoError(t, Pin(path))
	assert.FileExists(t, path+PinSuffix)
	assert.NoFileExists(t, path, "a pin makes no trace file")
	require.NoError(t, Unpin(path))
	assert.False(t, pinned())
	require.NoError(t, Unpin(segment))

	require.NoError(t, os.Symlink("nowhere", path+PinSuffix))
	assert.True(t, pinned(), "a marker of any kind")
	require.ErrorContains(t, Pin(filepath.Join(t.TempDir(), "gone", "traces.jsonl")), "pinning")
}

func TestPinned_WhereItCannotBeTold(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	pinned, err := Pinned(filepath.Join(file, "traces.jsonl"))
	require.Error(t, err)
	assert.True(t, pinned)
}

func TestLiveFile(t *testing.T) {
	live, closed := LiveFile("/t/x.jsonl")
	assert.Equal(t, "/t/x.jsonl", live)
	assert.False(t, closed)
	live, closed = LiveFile(SegmentPath("/t/x.jsonl", pathTestTime, 12))
	assert.Equal(t, "/t/x.jsonl", live)
	assert.True(t, closed)
	assert.Equal(t, "/t/x-20261201T090000Z-12.jsonl", SegmentPath("/t/x.jsonl", pathTestTime, 12))
}
