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

// Whatever somebody does to the files under a viewer, it tells what is in them now.
func TestFilesChangeUnderTheViewer(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "traces.jsonl")
	at := harness.FreePorts(t, 1)[0]
	startView(t, path, t.TempDir(), at)
	a := newAPI(t, at)
	set := simulation.Settings{Steps: 1, Groups: 4, Siblings: 2, Workers: 2}
	var runs []*simulation.Run
	for seed := range 6 {
		set.Seed, set.Start = uint64(seed), time.Unix(1_800_000_000+60*int64(seed), 0).UTC()
		runs = append(runs, newRun(t, set))
	}

	// shows waits until the viewer tells what the files hold: these runs, whole ones.
	shows := func(what string, whole ...*simulation.Run) *filed {
		t.Helper()
		f := readFiles(t, dir, runs)
		harness.WaitFor(t, 20*time.Second, what, func() error { return f.checkCatalogue(a) })
		for _, run := range whole {
			require.NoError(t, f.checkRun(a, run), what)
		}
		for _, run := range runs {
			if f.runs[run.ID] == nil {
				requireNoRun(t, a, run.ID)
			}
		}
		return f
	}
	waits := func(what string) {
		t.Helper()
		harness.WaitFor(t, 20*time.Second, what, func() error {
			var answer struct {
				state
				Runs []listedRun
			}
			if err := a.get(&answer, "/api/runs"); err != nil {
				return err
			}
			var r recorder
			assert.Equal(&r, "waiting", answer.State)
			assert.Contains(&r, answer.Reason, path)
			assert.Empty(&r, answer.Runs)
			return r.err
		})
		var empty openedRun
		require.NoError(t, a.get(&empty, "/api/run", "run", runs[0].ID), "it may come")
		assert.Zero(t, empty.Spans)
	}
	put := func(path string, data []byte) {
		t.Helper()
		require.NoError(t, os.WriteFile(path, data, 0o600))
	}
	add := func(data []byte) {
		t.Helper()
		file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
		require.NoError(t, err)
		_, err = file.Write(data)
		require.NoError(t, err)
		require.NoError(t, file.Close())
	}

	waits("a file that is not there yet")
	put(path, fileOf(t, runs[0]))
	shows("the first run", runs[0])
	half := linesOf(t, runs[1])
	add(bytes.Join(half[:len(half)/2], nil))
	shows("half of a run", runs[0])
	rest := bytes.Join(half[len(half)/2:], nil)
	add(rest[:len(rest)-10])
	shows("a run whose last line is being written", runs[0])
	add(rest[len(rest)-10:])
	shows("all of it", runs[0], runs[1])

	require.NoError(t, os.Truncate(path, int64(len(fileOf(t, runs[0])))))
	shows("cut off behind the first run", runs[0])
	add(fileOf(t, runs[2]))
	shows("and written on", runs[0], runs[2])

	put(path, fileOf(t, runs[3], runs[4]))
	shows("truncated and written anew", runs[3], runs[4])
	put(filepath.Join(dir, "new"), fileOf(t, runs[0], runs[1], runs[2]))
	require.NoError(t, os.Rename(filepath.Join(dir, "new"), path))
	shows("replaced by another file", runs[0], runs[1], runs[2])

	require.NoError(t, os.Rename(path, filepath.Join(dir, "traces-20270101T000000Z-1.jsonl")))
	add(fileOf(t, runs[5]))
	shows("rotated", runs[0], runs[1], runs[2], runs[5])
	require.NoError(t, os.Remove(filepath.Join(dir, "traces-20270101T000000Z-1.jsonl")))
	shows("the segment deleted", runs[5])
	require.NoError(t, os.Remove(path))
	waits("the file deleted")
	put(path, fileOf(t, runs[1]))
	shows("made again", runs[1])
}
