package runindex

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/internal/runid"
	"github.com/runspan/runspan/internal/tracefile"
)

func TestOpenRefusesWrongOptions(t *testing.T) {
	for _, opts := range []Options{{}, {Files: []string{"["}}, {Files: []string{""}}, {Files: []string{"a"}, Poll: -1}} {
		_, err := Open(opts)
		assert.Error(t, err, "%v", opts)
	}
}

func TestCatalogueWaitsForAFile(t *testing.T) {
	path := traceFile(t)
	c := catalogueOf(t, Options{Files: []string{path}})
	assert.Equal(t, StateReading, c.Snapshot().State)
	s := catchUp(t, c)
	assert.Equal(t, StateWaiting, s.State)
	assert.Equal(t, "waiting for "+path, s.Reason)
	assert.Same(t, s, c.Snapshot())

	appendTo(t, path, "") // as the collector leaves it at its start
	assert.Equal(t, StateReady, catchUp(t, c).State)
	w := newWriter("a")
	appendTo(t, path, w.lines(3))
	s = catchUp(t, c)
	assert.Len(t, s.Runs, 1)
	requireTruth(t, c, path)
}

func TestCatalogueReadsWhatIsAppended(t *testing.T) {
	path := traceFile(t)
	c := catalogueOf(t, Options{Files: []string{path}})
	w := newWriter("a", "b", "c/with a slash", "")
	for range 10 {
		appendTo(t, path, w.lines(20))
		line := w.line()
		appendTo(t, path, line[:len(line)/2]) // no data yet
		c.lookAtAll(t)
		requireTruth(t, c, path)
		appendTo(t, path, line[len(line)/2:])
	}
	s := catchUp(t, c)
	requireTruth(t, c, path)
	assert.Equal(t, s.Total, s.Read)
	assert.Equal(t, []FileInfo{{Name: path, Bytes: s.Total, Read: s.Total}}, s.Files)
}

func TestCatalogueVersionsSayWhatChanged(t *testing.T) {
	path := traceFile(t)
	c := catalogueOf(t, Options{Files: []string{path}})
	appendTo(t, path, newWriter("a").lines(3)+newWriter("b").lines(3))
	before := catchUp(t, c)
	appendTo(t, path, newWriter("b").line())
	after := catchUp(t, c)
	assert.Greater(t, after.Version, before.Version)
	assert.Same(t, before.Run("a"), after.Run("a"))
	assert.Greater(t, after.Run("b").Version, before.Run("b").Version)
	assert.WithinDuration(t, time.Now(), after.Run("b").Changed, 10*time.Second)
	assert.True(t, before.Run("b").Changed.IsZero(), "its spans ended in the future")
}

func TestCatalogueKeepsARotatedFile(t *testing.T) {
	path := traceFile(t)
	c := catalogueOf(t, Options{Files: []string{path}})
	w := newWriter("a", "b")
	appendTo(t, path, w.lines(20))
	catchUp(t, c)
	refs, mark, _ := c.Lines("a", Mark{})
	require.NotEmpty(t, refs)
	appendTo(t, path, w.lines(20)) // unread when the file is rotated
	segment := tracefile.SegmentPath(path, time.Now(), 1)
	require.NoError(t, os.Rename(path, segment))
	appendTo(t, path, w.lines(20))
	catchUp(t, c)
	requireTruth(t, c, segment, path)

	_, err := c.ReadLine(refs[0], nil)
	require.NoError(t, err, "a line that was known by the old name")
	more, _, reset := c.Lines("a", mark)
	assert.False(t, reset, "nothing went away")
	assert.NotEmpty(t, more)
	assert.Equal(t, []string{segment, path}, names(c.Snapshot()))
}

func names(s *Snapshot) (all []string) {
	for _, f := range s.Files {
		all = append(all, f.Name)
	}
	return all
}

func TestCatalogueNoticesWhatGoesAway(t *testing.T) {
	w := newWriter("a", "b", "")
	first, second := w.lines(30), w.lines(30)
	for name, change := range map[string]func(t *testing.T, path string){
		"truncated": func(t *testing.T, path string) {
			t.Helper()
			require.NoError(t, os.Truncate(path, int64(strings.Index(first, "\n")+1)))
		},
		"replaced": func(t *testing.T, path string) {
			t.Helper()
			require.NoError(t, os.WriteFile(path+".new", []byte(second), 0o600))
			require.NoError(t, os.Rename(path+".new", path))
		},
		"written anew": func(t *testing.T, path string) {
			t.Helper()
			require.NoError(t, os.WriteFile(path, []byte(second+second), 0o600))
		},
		"written anew with the same first line": func(t *testing.T, path string) {
			t.Helper()
			line := first[:strings.Index(first, "\n")+1]
			require.NoError(t, os.WriteFile(path, []byte(line+second+second), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := traceFile(t)
			other := filepath.Join(filepath.Dir(path), "other.jsonl")
			c := catalogueOf(t, Options{Files: []string{path, other}})
			appendTo(t, path, first)
			appendTo(t, other, newWriter("b").lines(5)+w.lines(5))
			catchUp(t, c)
			requireTruth(t, c, path, other)
			refs, mark, _ := c.Lines("a", Mark{})
			require.NotEmpty(t, refs)
			change(t, path)
			catchUp(t, c)
			requireTruth(t, c, path, other)
			_, _, reset := c.Lines("a", mark)
			assert.True(t, reset)

			require.NoError(t, os.Remove(path))
			catchUp(t, c)
			requireTruth(t, c, other)
			for _, ref := range refs {
				if ref.File == path {
					_, err := c.ReadLine(ref, nil)
					assert.ErrorIs(t, err, ErrGone)
				}
			}
		})
	}
}

func TestCatalogueStepsOverBadLines(t *testing.T) {
	path := traceFile(t)
	w := newWriter("a", "b")
	good := w.line()
	appendTo(t, path, w.lines(3)+"\n"+"not JSON\n"+`{"a":1}`+"\n"+good[:len(good)-1]+good+w.lines(3))
	c := catalogueOf(t, Options{Files: []string{path}})
	s := catchUp(t, c)
	requireTruth(t, c, path)
	require.Equal(t, int64(4), s.BadLines.Count)
	bad := s.BadLines.Lines[1]
	assert.Equal(t, path, bad.File)
	assert.Equal(t, int64(len("not JSON\n")), bad.Bytes)
	assert.Contains(t, bad.Reason, "not JSON")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "not JSON\n", string(text[bad.Offset:][:bad.Bytes]))
}

// A network file system may show zeros where a page is that it has not fetched yet.
func TestCatalogueReadsABadLineAgain(t *testing.T) {
	path := traceFile(t)
	w := newWriter("a")
	head, line := w.lines(3), w.line()
	zeros := strings.Repeat("\x00", 40) + line[40:]
	appendTo(t, path, head+zeros)
	c := catalogueOf(t, Options{Files: []string{path}})
	c.settle = time.Minute
	c.lookAtAll(t)
	assert.Zero(t, c.Snapshot().BadLines.Count)
	f, err := os.OpenFile(path, os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte(line), int64(len(head)))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	c.lookAtAll(t)
	requireTruth(t, c, path)
}

func TestCatalogueTakesACopyOnce(t *testing.T) {
	path := traceFile(t)
	text := newWriter("a").lines(10)
	copied := filepath.Join(filepath.Dir(path), "copy.jsonl")
	appendTo(t, path, text+newWriter("b").line())
	appendTo(t, copied, text)
	c := catalogueOf(t, Options{Files: []string{filepath.Join(filepath.Dir(path), "*.jsonl")}})
	s := catchUp(t, c)
	requireTruth(t, c, path)
	require.Len(t, s.Files, 2)
	assert.Contains(t, s.Files[1].Problem, "taken for a copy")
}

func TestCatalogueFindsFilesThatAppear(t *testing.T) {
	folder := t.TempDir()
	c := catalogueOf(t, Options{Files: []string{filepath.Join(folder, "*", "traces.jsonl")}})
	var paths []string
	for _, run := range []string{"a", "b", "c"} {
		path := filepath.Join(folder, run, "traces.jsonl")
		require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
		w := newWriter(run)
		w.random.Uint64()
		appendTo(t, path, newWriter(run, run+"2").lines(4))
		paths = append(paths, path)
		catchUp(t, c)
		requireTruth(t, c, paths...)
	}
}

func TestRunsOfTrace(t *testing.T) {
	path := traceFile(t)
	c := catalogueOf(t, Options{Files: []string{path}})
	appendTo(t, path, newWriter("b").lines(50)+newWriter("a").lines(50)+newWriter("").lines(50))
	catchUp(t, c)
	id := [16]byte{0: 7, 15: 1}
	assert.Equal(t, []string{"a", "b"}, c.RunsOfTrace(id))
	assert.Empty(t, c.RunsOfTrace([16]byte{200}))
}

// The run_id processor gives the spans of no run to "unassigned": they are of no run here either.
func TestCatalogueTakesUnassignedForNoRun(t *testing.T) {
	path := traceFile(t)
	c := catalogueOf(t, Options{Files: []string{path}})
	appendTo(t, path, lineOf(
		testSpan{run: runid.Unassigned, service: "engine", trace: 1, id: 1, name: "n"},
		testSpan{run: "a", service: "trainer", trace: 1, id: 2, name: "n"},
		testSpan{service: "engine", trace: 2, id: 3, name: "n"},
	)+"\n")
	got := catchUp(t, c)
	require.Len(t, got.Runs, 1)
	assert.Equal(t, int64(1), got.Run("a").Spans)
	require.Len(t, got.NoRun, 1)
	assert.Equal(t, int64(2), got.NoRun[0].Spans)
	assert.Equal(t, []string{"a"}, c.RunsOfTrace(traceID(1)))
	lines, _, _ := c.Lines("", Mark{})
	assert.Len(t, lines, 1)
	lines, _, _ = c.Lines(runid.Unassigned, Mark{})
	assert.Empty(t, lines)
}
