package catalogue

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/runspan/runspan/test/e2e/harness"
	"github.com/runspan/runspan/test/simulation"
)

// linesOf are the requests of a run as lines, as a collector without run_id writes them.
func linesOf(t *testing.T, run *simulation.Run) [][]byte {
	t.Helper()
	var lines [][]byte
	for _, request := range run.Requests {
		line, err := (&ptrace.JSONMarshaler{}).MarshalTraces(request.Traces)
		require.NoError(t, err)
		lines = append(lines, append(line, '\n'))
	}
	return lines
}

func fileOf(t *testing.T, runs ...*simulation.Run) []byte {
	t.Helper()
	var data []byte
	for _, run := range runs {
		data = append(data, bytes.Join(linesOf(t, run), nil)...)
	}
	return data
}

// changing is a folder of trace files that somebody changes under a viewer.
type changing struct {
	t     *testing.T
	dir   string
	files string // for the viewer
	at    string // of the viewer
	api   *api
	runs  []*simulation.Run
}

func newChanging(t *testing.T, pattern string, runs int) *changing {
	t.Helper()
	dir, at := t.TempDir(), harness.FreePorts(t, 1)[0]
	c := &changing{t: t, dir: dir, files: filepath.Join(dir, pattern), at: at, api: newAPI(t, at)}
	for seed := range runs {
		c.runs = append(c.runs, newRun(t, simulation.Settings{
			Seed: uint64(seed), Start: time.Unix(1_800_000_000+60*int64(seed), 0).UTC(), Steps: 1, Groups: 4, Siblings: 2, Workers: 2,
		}))
	}
	return c
}

// shows waits until the viewer tells what the files hold: these runs, whole ones.
func (c *changing) shows(what string, whole ...*simulation.Run) {
	c.t.Helper()
	f := readFiles(c.t, c.dir, c.runs)
	harness.WaitFor(c.t, 20*time.Second, what, func() error {
		// A file that moved changes no count: for a moment the old place is asked for, and answered with
		// "come again".
		err := f.checkCatalogue(c.api)
		for _, run := range whole {
			if err == nil {
				err = f.checkRun(c.api, run)
			}
		}
		return err
	})
	for _, run := range c.runs {
		if f.runs[run.ID] == nil {
			requireNoRun(c.t, c.api, run.ID)
		}
	}
}

// showsAgain starts a viewer with this cache, which is to show what the files hold, and ends it.
func (c *changing) showsAgain(cache, what string, whole ...*simulation.Run) {
	c.t.Helper()
	view := startView(c.t, c.files, cache, c.at)
	c.shows(what, whole...)
	require.Zero(c.t, view.Stop(endWithin), "%s", view.Log())
}

// waits waits until the viewer says that it waits for the files.
func (c *changing) waits(what string) {
	c.t.Helper()
	harness.WaitFor(c.t, 20*time.Second, what, func() error {
		var answer struct {
			state
			Runs []listedRun
		}
		if err := c.api.get(&answer, "/api/runs"); err != nil {
			return err
		}
		var r recorder
		assert.Equal(&r, "waiting", answer.State)
		assert.Contains(&r, answer.Reason, c.files)
		assert.Empty(&r, answer.Runs)
		return r.err
	})
	var empty openedRun
	require.NoError(c.t, c.api.get(&empty, "/api/run", "run", c.runs[0].ID), "it may come")
	assert.Zero(c.t, empty.Spans)
}

func (c *changing) path(name string) string { return filepath.Join(c.dir, name) }

// put makes a file, or truncates it and writes it anew.
func (c *changing) put(name string, data []byte) {
	c.t.Helper()
	require.NoError(c.t, os.MkdirAll(filepath.Dir(c.path(name)), 0o755))
	require.NoError(c.t, os.WriteFile(c.path(name), data, 0o600))
}

func (c *changing) add(name string, data []byte) {
	c.t.Helper()
	file, err := os.OpenFile(c.path(name), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	require.NoError(c.t, err)
	_, err = file.Write(data)
	require.NoError(c.t, err)
	require.NoError(c.t, file.Close())
}

func (c *changing) rename(from, to string) {
	c.t.Helper()
	require.NoError(c.t, os.Rename(c.path(from), c.path(to)))
}

func (c *changing) remove(name string) {
	c.t.Helper()
	require.NoError(c.t, os.RemoveAll(c.path(name)))
}

const (
	live    = "traces.jsonl"
	segment = "traces-20270101T000000Z-1.jsonl"
)

// Whatever somebody does to a file under a viewer, it tells what is in it now.
func TestAFileChangesUnderTheViewer(t *testing.T) {
	t.Parallel() // it mostly waits until the viewer believes what it sees
	c := newChanging(t, live, 6)
	startView(t, c.files, t.TempDir(), c.at)
	runs := c.runs
	c.waits("a file that is not there yet")
	c.put(live, fileOf(t, runs[0]))
	c.shows("the first run", runs[0])
	lines := linesOf(t, runs[1])
	half, rest := bytes.Join(lines[:len(lines)/2], nil), bytes.Join(lines[len(lines)/2:], nil)
	c.add(live, half)
	c.shows("half of a run", runs[0])
	c.add(live, rest[:len(rest)-10])
	c.shows("a run whose last line is being written", runs[0])
	c.add(live, rest[len(rest)-10:])
	c.shows("all of it", runs[0], runs[1])

	require.NoError(t, os.Truncate(c.path(live), int64(len(fileOf(t, runs[0])))))
	c.shows("cut off behind the first run", runs[0])
	c.add(live, fileOf(t, runs[2]))
	c.shows("and written on", runs[0], runs[2])
	c.put(live, fileOf(t, runs[3], runs[4]))
	c.shows("truncated and written anew", runs[3], runs[4])
	c.put("new", fileOf(t, runs[0], runs[1], runs[2]))
	c.rename("new", live)
	c.shows("replaced by another file", runs[0], runs[1], runs[2])

	c.rename(live, segment)
	c.add(live, fileOf(t, runs[5]))
	c.shows("rotated", runs[0], runs[1], runs[2], runs[5])
	c.remove(segment)
	c.shows("the segment deleted", runs[5])
	c.remove(live)
	c.waits("the file deleted")
	c.put(live, fileOf(t, runs[1]))
	c.shows("made again", runs[1])
}

// The same with a file for each run.
func TestFilesOfRunsChangeUnderTheViewer(t *testing.T) {
	t.Parallel() // it mostly waits until the viewer believes what it sees
	c := newChanging(t, "*/traces.jsonl", 4)
	startView(t, c.files, t.TempDir(), c.at)
	runs := c.runs
	c.waits("no folder")
	for i, name := range []string{"a/", "b/", "c/"} {
		c.put(name+live, fileOf(t, runs[i]))
	}
	c.shows("three runs", runs[:3]...)
	c.remove("b")
	c.shows("one removed", runs[0], runs[2])
	c.rename("c", "moved")
	c.shows("one moved", runs[0], runs[2])
	c.put("b/"+live, fileOf(t, runs[3]))
	c.shows("another one in the place of the removed", runs[0], runs[2], runs[3])
	c.rename("a/"+live, "a/"+segment)
	c.add("a/"+live, fileOf(t, runs[1]))
	c.shows("one rotated", runs...)
}

// What happened while no viewer ran is noticed by one that goes on from the cache.
func TestFilesChangeWhileNoViewerRuns(t *testing.T) {
	t.Parallel() // it mostly waits until the viewer believes what it sees
	c := newChanging(t, live, 6)
	runs, cache := c.runs, t.TempDir()
	again := func(what string, whole ...*simulation.Run) {
		t.Helper()
		c.showsAgain(cache, what, whole...)
	}
	c.put(live, fileOf(t, runs[0]))
	again("the first run", runs[0])
	c.add(live, fileOf(t, runs[1]))
	again("appended to", runs[0], runs[1])
	c.rename(live, segment)
	c.add(live, fileOf(t, runs[2]))
	again("rotated", runs[:3]...)
	c.put(live, fileOf(t, runs[3], runs[4]))
	again("truncated and written anew, longer", runs[0], runs[1], runs[3], runs[4])
	c.put(live, fileOf(t, runs[5]))
	again("and shorter", runs[0], runs[1], runs[5])
	c.remove(segment)
	again("the segment deleted", runs[5])
}
