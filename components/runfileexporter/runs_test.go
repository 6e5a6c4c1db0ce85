package runfileexporter

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/runspan/runspan/internal/tracefile"
)

// runsOf makes a request with a resource for each run, in this order, with one span each of that name.
func runsOf(runs ...string) ptrace.Traces {
	td := ptrace.NewTraces()
	for i, run := range runs {
		rs := td.ResourceSpans().AppendEmpty()
		rs.Resource().Attributes().PutStr("run.id", run)
		rs.Resource().Attributes().PutStr("service.name", "driver")
		span := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		span.SetTraceID(pcommon.TraceID{1})
		span.SetSpanID(pcommon.SpanID{byte(i), byte(i >> 8), 1})
		span.SetName(fmt.Sprintf("%s %d", run, i))
	}
	return td
}

func TestOneFileARun(t *testing.T) {
	dir := t.TempDir()
	c := configFor(dir + "/{run.id}/traces.jsonl")
	e, _, tel := start(t, c)
	require.NoError(t, e.ConsumeTraces(t.Context(), runsOf("a", "b", "a", "../c")))
	require.NoError(t, e.ConsumeTraces(t.Context(), runsOf("b")))
	require.NoError(t, e.ConsumeTraces(t.Context(), traces("no run")))
	for folder, want := range map[string][][]string{
		"a": {{"a 0", "a 2"}}, "b": {{"b 1"}, {"b 0"}}, "%2e.%2fc": {{"../c 3"}}, "unassigned": {{"no run"}},
	} {
		assert.Equal(t, want, fileNames(t, filepath.Join(dir, folder, "traces.jsonl")))
	}
	assert.EqualValues(t, 6, sum(t, tel, "exporter_run_file_spans"))
	m, err := tel.GetMetric("otelcol_exporter_run_file_open_files")
	require.NoError(t, err)
	assert.NotEmpty(t, m)
}

func TestOneFileAService(t *testing.T) {
	dir := t.TempDir()
	e, _, _ := start(t, configFor(dir+"/{service.name}.jsonl"))
	require.NoError(t, e.ConsumeTraces(t.Context(), runsOf("a", "b")))
	require.NoError(t, e.ConsumeTraces(t.Context(), traces("no service")))
	assert.Equal(t, [][]string{{"a 0", "b 1"}}, fileNames(t, filepath.Join(dir, "driver.jsonl")))
	assert.Equal(t, [][]string{{"no service"}}, fileNames(t, filepath.Join(dir, "unknown_service.jsonl")))
}

// A run that cannot be written fails nothing else of its request; the error is worth a retry and carries
// what is missing; and a retry of the whole request writes nothing twice.
func TestOneRunCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	c := configFor(dir + "/{run.id}.jsonl")
	c.MaxOpenFiles = 2
	e, host, tel := start(t, c)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bad.jsonl"), 0o700))
	td := runsOf("a", "bad", "b", "c", "bad", "d")
	for range 3 {
		err := e.ConsumeTraces(t.Context(), td)
		require.ErrorContains(t, err, "1 of 5 files")
		require.ErrorContains(t, err, "bad.jsonl")
		assert.False(t, consumererror.IsPermanent(err), "worth a retry")
		partly, ok := errors.AsType[consumererror.Traces](err)
		require.True(t, ok)
		assert.Equal(t, 2, partly.Data().SpanCount(), "what is missing")
		assert.NotEmpty(t, host.seen())
	}
	require.NoError(t, os.Remove(filepath.Join(dir, "bad.jsonl")))
	require.NoError(t, e.ConsumeTraces(t.Context(), td))
	for run, want := range map[string][]string{"a": {"a 0"}, "b": {"b 2"}, "c": {"c 3"}, "d": {"d 5"}, "bad": {"bad 1", "bad 4"}} {
		assert.Equal(t, [][]string{want}, fileNames(t, filepath.Join(dir, run+".jsonl")))
	}
	assert.EqualValues(t, 12, sum(t, tel, "exporter_run_file_duplicates"))
	assert.EqualValues(t, 6, sum(t, tel, "exporter_run_file_spans"))
	assert.EqualValues(t, 3, sum(t, tel, "exporter_run_file_failures"))
}

// 200 runs a request, from several clients, through few open files.
func TestManyRunsARequest(t *testing.T) {
	const runs, clients, requests = 200, 8, 5
	for _, durability := range []string{"write", "sync"} {
		t.Run(durability, func(t *testing.T) {
			dir := t.TempDir()
			c := configFor(dir + "/{run.id}.jsonl")
			c.Durability, c.MaxOpenFiles = durability, 32
			e, _, _ := start(t, c)
			var all sync.WaitGroup
			for client := range clients {
				all.Go(func() {
					for n := range requests {
						names := make([]string, runs)
						for i := range names {
							names[i] = fmt.Sprint("run-", i)
						}
						td := runsOf(names...)
						for i := range runs {
							span := td.ResourceSpans().At(i).ScopeSpans().At(0).Spans().At(0)
							span.SetName(fmt.Sprintf("%d of client %d", n, client))
						}
						assert.NoError(t, e.ConsumeTraces(t.Context(), td))
					}
				})
			}
			all.Wait()
			for i := range runs {
				seen := map[string]int{}
				for _, line := range fileNames(t, fmt.Sprintf("%s/run-%d.jsonl", dir, i)) {
					seen[line[0]]++
				}
				require.Len(t, seen, clients*requests)
				for name, n := range seen {
					require.Equal(t, 1, n, name)
				}
			}
		})
	}
}

// A request is taken apart without a map or an encoder for each of its runs.
func TestManyRunsCostFewAllocations(t *testing.T) {
	template, err := tracefile.ParsePathTemplate("/t/{run.id}.jsonl")
	require.NoError(t, err)
	names := make([]string, 200)
	for i := range names {
		names[i] = fmt.Sprint("run-", i)
	}
	td := runsOf(names...)
	r := newRequest(16 << 20)
	allocations := testing.AllocsPerRun(100, func() {
		r.split(td, template)
		r.encode(td)
		r.forget()
	})
	assert.Less(t, allocations, 20.0, "of 200 runs")
}

func TestRotationAndRetention(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	c := configFor(path)
	c.Rotation.MaxBytes = minSegmentBytes
	c.Retention.MaxBytes = 1
	tail := tracefile.NewTail(tracefile.TailSettings{Name: "run_file/slow", Include: []string{path}})
	t.Cleanup(tail.Close)
	e, _, tel := start(t, c)
	for i := range 100 {
		require.NoError(t, e.ConsumeTraces(t.Context(), runsOf(fmt.Sprintf("run %d", i))))
	}
	assert.Positive(t, sum(t, tel, "exporter_run_file_rotations"))
	require.Eventually(t, func() bool { return sum(t, tel, "exporter_run_file_deleted_files") > 0 }, 5*time.Second, 10*time.Millisecond)
	assert.Positive(t, sum(t, tel, "exporter_run_file_deleted_bytes"))
	assert.Positive(t, sum(t, tel, "exporter_run_file_deleted_unread_bytes"))
	assert.FileExists(t, path)
}
