package commands

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

func TestRuns(t *testing.T) {
	tr := fixture(t)
	tr.run(t, "runs", "data")
	tr.run(t, "runs", "--json", "data/traces.jsonl")
	write(t, tr.dir, "damaged.jsonl", damaged())
	tr.run(t, "runs", "data", "damaged.jsonl")
	tr.run(t, "runs", "missing.jsonl", "data")
	tr.requireGolden(t, "runs")
}

func TestCheck(t *testing.T) {
	tr := fixture(t)
	tr.run(t, "check", "data")
	tr.run(t, "check", "data/*.jsonl")
	write(t, tr.dir, "damaged.jsonl", damaged())
	tr.run(t, "check", "damaged.jsonl", "data")
	tr.run(t, "check", "--quiet", "--limit", "1", "damaged.jsonl", "data")
	tr.run(t, "check", "--json", "damaged.jsonl")
	tr.run(t, "check", "--max-line", "500B", "data")
	tr.note("a span in a closed segment and in the live file, and a torn end only")
	write(t, tr.dir, "log/traces-20261201T090000Z-1.jsonl", written)
	write(t, tr.dir, "log/traces.jsonl", append(bytes.Clone(written), written[:10]...))
	tr.run(t, "check", "log")
	write(t, tr.dir, "torn.jsonl", append(bytes.Clone(written), written[:10]...))
	tr.run(t, "check", "torn.jsonl")
	tr.requireGolden(t, "check")
}

func TestRepair(t *testing.T) {
	tr := fixture(t)
	tr.run(t, "repair", "data/traces.jsonl")
	same(t, tr.dir, "data/traces.jsonl", "data/traces.jsonl.repaired")
	tr.run(t, "repair", "data/traces.jsonl")
	write(t, tr.dir, "damaged.jsonl", damaged())
	tr.run(t, "repair", "damaged.jsonl", "--output", "clean.jsonl")
	tr.run(t, "check", "clean.jsonl")
	tr.run(t, "repair", "--json", "--limit", "1", "damaged.jsonl")
	tr.run(t, "repair", "missing.jsonl")
	tr.run(t, "repair", "data")
	tr.requireGolden(t, "repair")

	kept := read(t, tr.dir, "clean.jsonl")
	lines := strings.SplitAfter(string(written), "\n")
	for _, line := range lines[:4] {
		assert.Contains(t, kept, line, "every whole line is kept, the glued ones too")
	}
	assert.Equal(t, string(damaged()), read(t, tr.dir, "damaged.jsonl"), "never in place")
}

func TestSplitAndMerge(t *testing.T) {
	tr := fixture(t)
	tr.run(t, "split", "data", "--into", "traces")
	tr.run(t, "runs", "traces")
	tr.run(t, "merge", "traces", "--into", "all.jsonl")
	tr.run(t, "runs", "all.jsonl")
	harness.RequireSameSpans(t, harness.ReadTraceFile(t, filepath.Join(tr.dir, "data/traces.jsonl")),
		harness.ReadTraceFile(t, filepath.Join(tr.dir, "all.jsonl")))
	tr.run(t, "split", "--json", "data", "--into", "flat", "--name", "{run.id}.jsonl")
	tr.run(t, "merge", "--json", "flat/*.jsonl", "--into", "again.jsonl")
	tr.note("refused")
	tr.run(t, "split", "data", "--into", "traces")
	tr.run(t, "split", "data", "--into", "data/by-run")
	tr.run(t, "merge", "traces", "--into", "traces/all.jsonl")
	tr.run(t, "split", "data", "--into", "x", "--name", "../{run.id}.jsonl")
	tr.run(t, "split", "data", "--into", "x", "--name", "traces.jsonl")
	tr.run(t, "split", "data")
	tr.run(t, "merge", "traces", "--into", "all.jsonl")
	tr.note("bad lines")
	write(t, tr.dir, "damaged.jsonl", damaged())
	tr.run(t, "split", "damaged.jsonl", "--into", "from-damaged")
	tr.run(t, "merge", "damaged.jsonl", "--into", "from-damaged.jsonl")
	tr.requireGolden(t, "split-merge")

	for _, file := range []string{"traces/run-1/traces.jsonl", "traces/%e8%ae%ad%e7%bb%83%2f%e4%b8%83/traces.jsonl", "traces/unassigned/traces.jsonl"} {
		spans := harness.ReadTraceFile(t, filepath.Join(tr.dir, file))
		require.NotEmpty(t, spans)
		for _, s := range spans {
			require.Equal(t, spans[0].Run, s.Run, "one run only in %s", file)
		}
	}
	assert.NoDirExists(t, filepath.Join(tr.dir, "x"), "what is refused leaves nothing behind")
	leftovers, err := filepath.Glob(filepath.Join(tr.dir, "*.partial"))
	require.NoError(t, err)
	assert.Empty(t, leftovers)
}

// prunable is a folder of three runs that were written one, two and three weeks ago.
func prunable(t *testing.T) *transcript {
	t.Helper()
	tr := fixture(t)
	require.NoError(t, os.Remove(filepath.Join(tr.dir, "data/traces.jsonl")))
	for i, run := range []string{"new", "middle", "old"} {
		write(t, tr.dir, "traces/"+run+"/traces.jsonl", []byte(request(resource("driver", run, span(9-i, "step", 0)))+"\n"))
		age(t, tr.dir, "traces/"+run+"/traces.jsonl", i+1)
	}
	write(t, tr.dir, "traces/old/traces-20261101T000000Z-1.jsonl", []byte(request(resource("driver", "old", span(1, "step", 0)))+"\n"))
	age(t, tr.dir, "traces/old/traces-20261101T000000Z-1.jsonl", 4)
	return tr
}

// epoch is when the files of prunable were written last, in weeks before it.
var epoch = time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)

func age(t *testing.T, dir, name string, weeks int) {
	t.Helper()
	at := epoch.AddDate(0, 0, -7*weeks)
	require.NoError(t, os.Chtimes(filepath.Join(dir, name), at, at))
}

func TestPrune(t *testing.T) {
	tr := prunable(t)
	tr.run(t, "prune", "traces", "--keep", "2runs", "--dry-run")
	assert.FileExists(t, filepath.Join(tr.dir, "traces/old/traces.jsonl"))
	tr.run(t, "prune", "--json", "traces", "--keep", "1kB", "--dry-run")
	tr.run(t, "pin", "traces/old/traces-20261101T000000Z-1.jsonl")
	tr.run(t, "prune", "traces", "--keep", "1runs", "--keep", "1B")
	tr.run(t, "unpin", "--json", "traces/old/traces.jsonl")
	tr.run(t, "prune", "traces", "--keep", "1B")
	entries, err := os.ReadDir(filepath.Join(tr.dir, "traces"))
	require.NoError(t, err)
	assert.Empty(t, entries, "nothing of a deleted run is left")
	tr.note("refused")
	for _, limit := range []string{"5", "0d", "x", "-1d", "1.5d", "2runs,3runs"} {
		tr.run(t, "prune", "traces", "--keep", limit)
	}
	tr.run(t, "prune", "traces", "--keep", "1d", "--keep", "2d")
	tr.run(t, "prune", "traces")
	tr.run(t, "prune", "--keep", "1d")
	tr.run(t, "pin", "traces/typo.jsonl", ".")
	tr.requireGolden(t, "prune")
}

// What is no trace file stays, whatever its name and age.
func TestPruneLeavesOtherData(t *testing.T) {
	tr := prunable(t)
	write(t, tr.dir, "traces/prompts.jsonl", []byte(`{"prompt":"hello"}`+"\n"))
	age(t, tr.dir, "traces/prompts.jsonl", 9)
	write(t, tr.dir, "traces/empty.jsonl", nil)
	age(t, tr.dir, "traces/empty.jsonl", 9)
	tr.run(t, "prune", "traces", "--keep", "1B")
	assert.FileExists(t, filepath.Join(tr.dir, "traces/prompts.jsonl"))
	assert.FileExists(t, filepath.Join(tr.dir, "traces/empty.jsonl"))
	tr.note("runs are not known for certain in a file with bad lines")
	write(t, tr.dir, "traces/bad/traces.jsonl", []byte(request(resource("driver", "bad", span(1, "step", 0)))+"\nx\n"))
	age(t, tr.dir, "traces/bad/traces.jsonl", 5)
	write(t, tr.dir, "traces/new/traces.jsonl", []byte(request(resource("driver", "new", span(2, "step", 0)))+"\n"))
	age(t, tr.dir, "traces/new/traces.jsonl", 1)
	tr.run(t, "prune", "traces", "--keep", "1runs")
	tr.requireGolden(t, "prune-other-data")
}

// The live file of a running collector stays; when it has ended it may go.
func TestPruneAndARunningCollector(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{})
	post(t, c, requests[0])
	dir := filepath.Dir(c.Data)
	segment := "data/traces-20261101T000000Z-1.jsonl"
	write(t, dir, segment, []byte(requests[0]+"\n"))
	age(t, dir, segment, 5)
	age(t, dir, "data/traces.jsonl", 4)

	r := run(t, dir, "prune", "data", "--keep", "1d", "--json")
	require.Zero(t, r.code, r.stderr)
	var report struct {
		Deleted []struct{ File string }
		Kept    []struct{ File, Kept string } `json:"kept_back"`
	}
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &report))
	require.Len(t, report.Deleted, 1)
	require.Equal(t, segment, report.Deleted[0].File)
	require.Len(t, report.Kept, 1)
	require.Equal(t, "data/traces.jsonl", report.Kept[0].File)
	require.Contains(t, report.Kept[0].Kept, "being written: process ")

	post(t, c, requests[1])
	require.Len(t, harness.ReadTraceFile(t, c.TraceFile()), 4, "the collector noticed nothing")
	c.Kill() // the kernel frees its lock
	age(t, dir, "data/traces.jsonl", 4)
	require.Zero(t, run(t, dir, "prune", "data", "--keep", "1d").code)
	require.NoFileExists(t, c.TraceFile())
}

// Of a running collector that writes one file per run, the files of idle runs may go; one that comes
// back has a new file, with all of its new spans.
func TestPruneRunsOfARunningCollector(t *testing.T) {
	config, err := filepath.Abs("testdata/per-run.yaml")
	require.NoError(t, err)
	c := harness.StartCollector(t, harness.CollectorSettings{Config: config})
	for _, run := range []string{"idle", "busy"} {
		post(t, c, request(resource("driver", run, span(1, "step", 0))))
	}
	dir := filepath.Dir(c.Data)
	idle, busy := "data/idle/traces.jsonl", "data/busy/traces.jsonl"
	age(t, dir, idle, 4)

	r := run(t, dir, "prune", "data", "--keep", "1B")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, "deleted "+idle)
	require.Regexp(t, "kept "+busy+" .*: being written: process ", r.stdout)
	require.NoFileExists(t, filepath.Join(dir, idle))

	post(t, c, request(resource("driver", "idle", span(2, "step", 0))))
	post(t, c, request(resource("driver", "busy", span(2, "step", 0))))
	harness.WaitFor(t, 10*time.Second, "the spans of the run that came back", func() error {
		_, err := os.Stat(filepath.Join(dir, idle))
		return err
	})
	back := harness.ReadTraceFile(t, filepath.Join(dir, idle))
	require.Contains(t, keys(back), harness.Span{TraceID: fmt.Sprintf("%032x", 2), SpanID: fmt.Sprintf("%016x", 2)}.Key())
	require.Len(t, harness.ReadTraceFile(t, filepath.Join(dir, busy)), 2)
}

func keys(spans []harness.Span) []string {
	var keys []string
	for _, s := range spans {
		keys = append(keys, s.Key())
	}
	return keys
}

func TestVersionAndWrongUse(t *testing.T) {
	tr := fixture(t)
	tr.run(t, "--version")
	tr.run(t)
	tr.run(t, "chek", "data")
	tr.run(t, "check")
	tr.run(t, "check", "--jsn", "data")
	tr.run(t, "check", "--max-line", "huge", "data")
	tr.run(t, "check", "nothing.jsonl")
	tr.run(t, "check", "nothing-*.jsonl")
	require.NoError(t, os.Mkdir(filepath.Join(tr.dir, "empty"), 0o700))
	tr.run(t, "check", "empty", "data")
	tr.run(t, "runs", "/dev/null")
	require.NoError(t, syscall.Mkfifo(filepath.Join(tr.dir, "data/fifo.jsonl"), 0o600))
	tr.run(t, "check", "data/fifo.jsonl")
	tr.run(t, "check", "data")
	tr.run(t, "check", "--json", "nothing.jsonl")
	tr.requireGolden(t, "wrong-use")
}

func same(t *testing.T, dir, a, b string) {
	t.Helper()
	require.Equal(t, read(t, dir, a), read(t, dir, b))
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return string(data)
}
