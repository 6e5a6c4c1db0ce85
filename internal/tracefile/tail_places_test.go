package tracefile

import (
	"errors"
	"fmt"
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
	for _, tc := range []struct {
		name  string
		spoil func(place, file string) error
		want  TailEventKind
	}{
		{"zeroed", func(place, _ string) error { return os.WriteFile(place, make([]byte, 120), 0o600) }, TailPlaceDamaged},
		{"emptied", func(place, _ string) error { return os.Truncate(place, 0) }, TailPlaceDamaged},
		{"truncated", func(place, _ string) error { return os.Truncate(place, 30) }, TailPlaceDamaged},
		{"a changed digit", func(place, _ string) error { return replaceInFile(place, `"offset":4`, `"offset":2`) }, TailPlaceDamaged},
		{"huge", func(place, _ string) error { return os.WriteFile(place, make([]byte, tailPlaceMost+1), 0o600) }, TailPlaceDamaged},
		{"a folder", func(place, _ string) error {
			return errors.Join(os.Remove(place), os.Mkdir(place, 0o700))
		}, TailPlaceDamaged},
		{"unreadable, also for root", func(place, _ string) error {
			return errors.Join(os.Remove(place), os.Symlink(filepath.Base(place), place))
		}, TailPlaceUnreadable},
		{"of another file", func(place, _ string) error {
			other := tailPlaces{dir: filepath.Dir(place), reader: "run_file/test"}
			return errors.Join(other.save("abc", "/other.jsonl", 2), os.Rename(other.file("abc"), place))
		}, TailPlaceForeign},
		{"of another reader", func(place, fingerprint string) error {
			other := tailPlaces{dir: filepath.Dir(place), reader: "run_file/other"}
			return errors.Join(other.save(fingerprint, "/traces.jsonl", 2), os.Rename(other.file(fingerprint), place))
		}, TailPlaceForeign},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x := newTailFixture(t, nil)
			x.write(t, "traces.jsonl", "1\n2\n")
			x.deliver(t)
			x.Save()
			fingerprint := fingerprintOf(t, x.path("traces.jsonl"))
			place := x.places.file(fingerprint)
			require.NoError(t, tc.spoil(place, fingerprint))
			x.crash(t)
			assert.Equal(t, "1\n2\n", x.deliver(t))
			require.Len(t, x.seenEvents(tc.want), 1)
			require.Len(t, x.seenEvents(TailFileFound), 1)
			if tc.name == "a folder" {
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

func replaceInFile(path, old, replacement string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	changed := strings.Replace(string(data), old, replacement, 1)
	if changed == string(data) {
		return fmt.Errorf("%s holds no %s", path, old)
	}
	return os.WriteFile(path, []byte(changed), 0o600)
}
