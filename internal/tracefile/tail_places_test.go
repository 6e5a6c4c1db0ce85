package tracefile

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every way in which a place can be spoiled: reading begins anew, it is told, the next place is good.
func TestTailPlace_Faults(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(t *testing.T, place string)
		want  TailEventKind
	}{
		"zeroed": {func(t *testing.T, place string) {
			info, err := os.Stat(place)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(place, make([]byte, info.Size()), 0o600))
		}, TailPlaceDamaged},
		"emptied":   {func(t *testing.T, place string) { require.NoError(t, os.Truncate(place, 0)) }, TailPlaceDamaged},
		"truncated": {func(t *testing.T, place string) { require.NoError(t, os.Truncate(place, 30)) }, TailPlaceDamaged},
		"a changed digit": {func(t *testing.T, place string) {
			replaceInFile(t, place, `"offset":4`, `"offset":2`)
		}, TailPlaceDamaged},
		"huge": {func(t *testing.T, place string) {
			require.NoError(t, os.WriteFile(place, make([]byte, tailPlaceMost+1), 0o600))
		}, TailPlaceDamaged},
		"a folder": {func(t *testing.T, place string) {
			require.NoError(t, os.Remove(place))
			require.NoError(t, os.Mkdir(place, 0o700))
		}, TailPlaceDamaged},
		"unreadable": {func(t *testing.T, place string) {
			require.NoError(t, os.Remove(place))
			require.NoError(t, os.Symlink(filepath.Base(place), place)) // also for root
		}, TailPlaceUnreadable},
		"of another file": {func(t *testing.T, place string) {
			other := tailPlaces{dir: filepath.Dir(place), reader: "run_file/test"}
			require.NoError(t, other.save("abc", "/other.jsonl", 2))
			require.NoError(t, os.Rename(other.file("abc"), place))
		}, TailPlaceForeign},
		"of another reader": {func(t *testing.T, place string) {
			other := tailPlaces{dir: filepath.Dir(place), reader: "run_file/other"}
			fingerprint := fingerprintOf(t, filepath.Join(filepath.Dir(filepath.Dir(place)), "traces.jsonl"))
			require.NoError(t, other.save(fingerprint, "/traces.jsonl", 2))
			require.NoError(t, os.Rename(other.file(fingerprint), place))
		}, TailPlaceForeign},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTailFixture(t, nil)
			x.write(t, "traces.jsonl", "1\n2\n")
			x.deliver(t)
			x.Save()
			place := x.places.file(fingerprintOf(t, x.path("traces.jsonl")))
			tc.spoil(t, place)
			x.crash(t)
			assert.Equal(t, "1\n2\n", x.deliver(t))
			require.Len(t, x.seenEvents(tc.want), 1)
			require.Len(t, x.seenEvents(TailFileFound), 1)
			if name == "a folder" {
				require.NoError(t, os.Remove(place))
			}
			x.Save()
			x.crash(t)
			assert.Empty(t, x.deliver(t), "the place is good again")
		})
	}
}

func TestTailPlace_DamagedWithStartAtEnd(t *testing.T) {
	x := newTailFixture(t, func(set *TailSettings) { set.StartAtEnd = true })
	x.write(t, "traces.jsonl", "1\n")
	x.deliver(t)
	x.Save()
	x.append(t, "traces.jsonl", "2\n")
	require.NoError(t, os.Truncate(x.places.file(fingerprintOf(t, x.path("traces.jsonl"))), 3))
	x.crash(t)
	assert.Empty(t, x.deliver(t))
	require.Len(t, x.seenEvents(TailPlaceDamaged), 1)
}

// A folder that cannot be written to: told once, reading goes on, and told when it heals.
func TestTailPlace_UnwritableFolder(t *testing.T) {
	x := newTailFixture(t, nil)
	x.write(t, "places", "a file where the folder should be")
	x.write(t, "traces.jsonl", "1\n")
	assert.Equal(t, "1\n", x.deliver(t))
	x.Save()
	x.Save()
	require.Len(t, x.seenEvents(TailPlaceUnwritable), 1)
	x.append(t, "traces.jsonl", "2\n")
	assert.Equal(t, "2\n", x.deliver(t))
	require.NoError(t, os.Remove(x.path("places")))
	x.Save()
	require.Len(t, x.seenEvents(TailPlaceWritable), 1)
	x.crash(t)
	assert.Empty(t, x.deliver(t))
}

// A kill while a place is written leaves the old one.
func TestTailPlace_TornTempFile(t *testing.T) {
	x := newTailFixture(t, nil)
	x.write(t, "traces.jsonl", "1\n")
	x.deliver(t)
	x.Save()
	place := x.places.file(fingerprintOf(t, x.path("traces.jsonl")))
	require.NoError(t, os.WriteFile(place+".tmp", []byte(`{"reader"`), 0o600))
	x.crash(t)
	x.append(t, "traces.jsonl", "2\n")
	assert.Equal(t, "2\n", x.deliver(t))
	x.Save()
	assert.NoFileExists(t, place+".tmp")
}

func TestTailPlace_ReadersDoNotShare(t *testing.T) {
	dir := t.TempDir()
	a, b := tailPlaces{dir, "run_file/a"}, tailPlaces{dir, "run_file/a-b"}
	require.NoError(t, a.save("f", "/x", 7))
	_, err := b.load("f")
	require.ErrorIs(t, err, fs.ErrNotExist)
	offset, err := a.load("f")
	require.NoError(t, err)
	assert.Equal(t, int64(7), offset)
}

func TestTailPlace_Prune(t *testing.T) {
	p := tailPlaces{t.TempDir(), "run_file"}
	now := time.Now()
	old := now.Add(-tailPlaceAge - time.Hour)
	for _, fingerprint := range []string{"gone", "there"} {
		require.NoError(t, p.save(fingerprint, "/x", 7))
		require.NoError(t, os.Chtimes(p.file(fingerprint), old, old))
	}
	require.NoError(t, p.save("young", "/x", 7))
	foreign := filepath.Join(p.dir, "notes.place")
	require.NoError(t, os.WriteFile(foreign, nil, 0o600))
	require.NoError(t, os.Chtimes(foreign, old, old))
	p.prune(func(fingerprint string) bool { return fingerprint == "there" }, now)
	assert.NoFileExists(t, p.file("gone"))
	assert.FileExists(t, p.file("young"))
	assert.FileExists(t, foreign)
	info, err := os.Stat(p.file("there"))
	require.NoError(t, err)
	assert.WithinDuration(t, now, info.ModTime(), time.Minute)
}

func replaceInFile(t *testing.T, path, old, replacement string) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(data), old)
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(data), old, replacement, 1)), 0o600))
}
