package runindex

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/internal/runid"
)

// rowNames returns the names of a trace's rows, each behind its distance to its parent.
func rowNames(tree *TraceTree) (list []string) {
	for i, stage := range tree.Stage {
		list = append(list, fmt.Sprint(tree.Parent[i], " ", tree.Stages[stage].Name))
	}
	return list
}

func TestTree(t *testing.T) {
	s := func(id, parent int, name string, start int64) testSpan {
		return testSpan{run: "r", service: "s", trace: 1, id: id, parent: parent, name: name, start: start, took: 10}
	}
	for _, tc := range []struct {
		name    string
		spans   []testSpan
		want    []string
		orphans int64
	}{
		{
			"children by start",
			[]testSpan{s(1, 0, "root", 0), s(3, 1, "late", 5), s(2, 1, "early", 2), s(4, 2, "below", 3)},
			[]string{"0 root", "1 early", "1 below", "3 late"},
			0,
		},
		{"the parent comes last", []testSpan{s(2, 1, "child", 2), s(1, 0, "root", 0)}, []string{"0 root", "1 child"}, 0},
		{
			"an orphan",
			[]testSpan{s(1, 0, "root", 5), s(2, 9, "orphan", 2), s(3, 2, "below", 3)},
			[]string{"-1 orphan", "1 below", "0 root"},
			1,
		},
		{"its own parent", []testSpan{s(1, 1, "self", 0), s(2, 1, "below", 1)}, []string{"-1 self", "1 below"}, 1},
		{
			"a circle and what hangs on it",
			[]testSpan{s(1, 2, "b", 3), s(2, 3, "c", 4), s(3, 1, "a", 1), s(4, 2, "leaf", 9)},
			[]string{"-1 a", "1 c", "1 b", "2 leaf"},
			1,
		},
		{
			"a circle beside a root",
			[]testSpan{s(1, 0, "root", 0), s(2, 3, "x", 1), s(3, 2, "y", 1)},
			[]string{"0 root", "-1 x", "1 y"},
			1,
		},
		{
			"twice",
			[]testSpan{s(1, 0, "root", 0), s(2, 1, "child", 2), s(2, 1, "child", 2), s(1, 0, "root", 0)},
			[]string{"0 root", "1 child"},
			0,
		},
		{"without ids", []testSpan{s(0, 0, "a", 0), s(0, 0, "b", 1)}, []string{"0 a", "0 b"}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			// In one line and in a line each: what arrives later must change what was settled.
			var lines []string
			for _, span := range tc.spans {
				lines = append(lines, lineOf(span))
			}
			oneByOne := &memory{}
			runs := NewRuns(oneByOne, RunsOptions{})
			var last *OpenedRun
			for _, line := range lines {
				oneByOne.append(line)
				last = open(t, runs, "r")
				last.Summary("")
			}
			atOnce, _ := openAll(t, lineOf(tc.spans...))
			for _, run := range []*OpenedRun{atOnce, last} {
				tree := run.Trace(traceID(1), "")
				require.NotNil(t, tree)
				assert.Equal(t, tc.want, rowNames(tree))
				assert.Equal(t, tc.orphans, run.Summary("").Missing.Orphans)
				assert.Equal(t, tc.orphans, run.Missing("", 100).Orphans.Count)
			}
		})
	}
}

func TestDeepTraceNeedsNoStack(t *testing.T) {
	var spans []testSpan
	for i := range 20_000 {
		spans = append(spans, testSpan{run: "r", trace: 1, id: i + 1, parent: i, name: "n", start: int64(i), took: 1})
	}
	run, _ := openAll(t, lineOf(spans...))
	tree := run.Trace(traceID(1), "")
	require.Len(t, tree.Parent, len(spans))
	for i, parent := range tree.Parent[1:] {
		require.Equal(t, int32(1), parent, i)
	}
}

func TestCutTraceKeepsParents(t *testing.T) {
	m := &memory{}
	for i := range 10 {
		m.append(lineOf(testSpan{run: "r", trace: 1, id: i + 1, parent: i, name: "n", start: int64(i), took: 1}))
	}
	tree := open(t, NewRuns(m, RunsOptions{MaxTraceSpans: 4}), "r").Trace(traceID(1), "")
	assert.Equal(t, []int32{0, 1, 1, 1}, tree.Parent)
	assert.Equal(t, int64(6), tree.Cut)
}

func TestServiceNarrowsATrace(t *testing.T) {
	run, _ := openAll(t, lineOf(
		testSpan{run: "r", service: "a", trace: 1, id: 1, name: "root", start: 0, took: 100},
		testSpan{run: "r", service: "b", trace: 1, id: 2, parent: 1, name: "between", start: 1, took: 50},
		testSpan{run: "r", service: "a", trace: 1, id: 3, parent: 2, name: "leaf", start: 2, took: 20},
	))
	assert.Equal(t, []string{"0 root", "1 leaf"}, rowNames(run.Trace(traceID(1), "a")))
	assert.Equal(t, []string{"0 between"}, rowNames(run.Trace(traceID(1), "b")))
	assert.Nil(t, run.Trace(traceID(1), "c"))
	assert.Nil(t, run.Trace(traceID(2), ""))
	assert.Equal(t, int64(2), run.Summary("a").Spans)
	assert.Equal(t, int64(0), run.Summary("c").Spans)
}

func TestAppendedLinesAreReadOnce(t *testing.T) {
	m := &memory{}
	runs := NewRuns(m, RunsOptions{})
	for i := range 20 {
		m.append(lineOf(testSpan{run: "r", trace: i, id: 1, name: "n"}), lineOf(testSpan{run: "other", trace: 100 + i, id: 1, name: "n"}))
		run := open(t, runs, "r")
		assert.Equal(t, int64(i+1), run.Summary("").Spans)
		assert.Equal(t, i+1, m.reads)
	}
}

func TestReplacedFilesAreReadAnew(t *testing.T) {
	run, m := openAll(t, lineOf(testSpan{run: "r", trace: 1, id: 1, name: "old"}))
	m.replace(lineOf(testSpan{run: "r", trace: 2, id: 1, name: "new"}), lineOf(testSpan{run: "r", trace: 3, id: 1, name: "new"}))
	again := open(t, run.runs, "r")
	assert.Equal(t, int64(2), again.Summary("").Spans)
	assert.Nil(t, again.Trace(traceID(1), ""))
	stages, matched, _, err := again.Stages("", Page{Sort: "-sum", Limit: 10})
	require.NoError(t, err)
	assert.Equal(t, 1, matched)
	assert.Equal(t, "new", stages[0].Name)
}

func TestSpansWithoutARunJoinTheOnlyRunOfTheirTrace(t *testing.T) {
	// As an engine sends them, and as the run_id processor has them written.
	for _, none := range []string{"", runid.Unassigned} {
		t.Run("run id "+none, func(t *testing.T) { testJoins(t, none) })
	}
}

func testJoins(t *testing.T, none string) {
	t.Helper()
	own := func(run string, trace int) string {
		return lineOf(testSpan{run: run, service: "trainer", trace: trace, id: 1, name: "root"})
	}
	lost := func(traces ...int) string {
		var spans []testSpan
		for _, trace := range traces {
			spans = append(spans, testSpan{run: none, service: "engine", trace: trace, id: 2, parent: 1, name: "generate"})
		}
		return lineOf(spans...)
	}
	m := &memory{}
	runs := NewRuns(m, RunsOptions{})
	joined := func() int64 { return open(t, runs, "r").Summary("").Missing.Joined }
	m.append(lost(1, 2, 3), own("r", 1))
	assert.Equal(t, int64(1), joined(), "before the run's own")
	run := open(t, runs, "r")
	span, err := run.Span(traceID(1), [8]byte{7: 2}, "")
	require.NoError(t, err)
	assert.Equal(t, "engine", span.Service)
	found, _, _, _, err := run.Traces(t.Context(), TraceFilter{Text: "GENERATE"}, Page{Sort: "start", Limit: 10})
	require.NoError(t, err)
	assert.Len(t, found, 1, "the text of a span that joined")
	m.append(own("r", 2))
	assert.Equal(t, int64(2), joined(), "a line that was looked at before")
	m.append(own("r", 4), lost(4))
	assert.Equal(t, int64(3), joined(), "after the run's own")
	m.append(own("r", 3), own("other", 3))
	assert.Equal(t, int64(3), joined(), "a trace of two runs")
	m.append(own("other", 1))
	assert.Equal(t, int64(2), joined(), "a trace that became one of two runs")
	m.append(lineOf(testSpan{run: runid.Unassigned, service: "engine", trace: 2, id: 9, parent: 1, name: "found no run"}, testSpan{service: "engine", trace: 2, id: 8, parent: 1, name: "has none"}))
	assert.Equal(t, int64(4), joined(), "the fallback id of the collector is none")
	assert.Zero(t, open(t, runs, runid.Unassigned).Summary("").Spans, "it is no run")
	summary := open(t, runs, "r").Summary("")
	assert.Zero(t, summary.Missing.Duplicates)
	assert.Equal(t, int64(8), summary.Spans)
	assert.Equal(t, int64(2), open(t, runs, "other").Summary("").Spans)
}

func TestMemoryLimit(t *testing.T) {
	m := &memory{}
	for run := range 3 {
		var spans []testSpan
		for i := range 2000 {
			spans = append(spans, testSpan{run: strconv.Itoa(run), trace: i, id: 1, name: "n"})
			if len(spans) == 100 {
				m.append(lineOf(spans...))
				spans = nil
			}
		}
	}
	all := NewRuns(m, RunsOptions{})
	open(t, all, "0")
	_, whole := all.Memory()

	t.Run("the least used is closed", func(t *testing.T) {
		runs := NewRuns(m, RunsOptions{MaxMemory: 2*whole + whole/2, InUse: time.Nanosecond})
		open(t, runs, "0")
		open(t, runs, "1")
		open(t, runs, "0")
		_, partial := openPart(t, runs, "2")
		assert.Nil(t, partial)
		opened, bytes := runs.Memory()
		assert.Equal(t, 2, opened)
		assert.LessOrEqual(t, bytes, runs.MaxMemory())
		reads := m.reads
		open(t, runs, "0")
		assert.Equal(t, reads, m.reads, "the one used last is still open")
	})
	t.Run("one that somebody looks at stays", func(t *testing.T) {
		runs := NewRuns(m, RunsOptions{MaxMemory: whole + whole/2})
		open(t, runs, "0")
		_, partial := openPart(t, runs, "1")
		require.NotNil(t, partial)
		assert.Equal(t, PartialMemory, partial.Reason)
	})
	t.Run("a larger run is served in part", func(t *testing.T) {
		runs := NewRuns(m, RunsOptions{MaxMemory: whole / 2})
		run, partial := openPart(t, runs, "0")
		require.NotNil(t, partial)
		assert.Equal(t, PartialMemory, partial.Reason)
		assert.Equal(t, int64(2000), partial.SpansTotal)
		assert.Positive(t, partial.SpansRead)
		assert.Less(t, partial.SpansRead, int64(2000))
		assert.Equal(t, partial.SpansRead, run.Summary("").Spans)
		reads := m.reads
		open(t, runs, "0")
		assert.Equal(t, reads, m.reads, "what is full reads no more")
	})
}

func TestPatienceEndsAndReadingGoesOn(t *testing.T) {
	m := &memory{delay: 2 * time.Millisecond}
	for i := range 50 {
		m.append(lineOf(testSpan{run: "r", trace: i, id: 1, name: "n"}))
	}
	runs := NewRuns(m, RunsOptions{Patience: 20 * time.Millisecond})
	run, partial := openPart(t, runs, "r")
	require.NotNil(t, partial)
	assert.Equal(t, PartialReading, partial.Reason)
	m.append(lineOf(testSpan{run: "r", trace: 50, id: 1, name: "n"}))
	for partial != nil {
		run, partial = openPart(t, runs, "r")
	}
	assert.Equal(t, 51, m.reads)
	assert.Equal(t, int64(51), run.Summary("").Spans, "with what was appended meanwhile")
}

func TestOpenEndsWithItsRequest(t *testing.T) {
	m := &memory{}
	m.append(lineOf(testSpan{run: "r", trace: 1, id: 1, name: "n"}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := NewRuns(m, RunsOptions{}).Open(ctx, "r")
	assert.ErrorIs(t, err, context.Canceled)
}

// A request that could not wait for another one that is reading says so: its answer may be old.
func TestWhoeverCannotWaitIsToldSo(t *testing.T) {
	m := &memory{delay: 30 * time.Millisecond}
	for i := range 10 {
		m.append(lineOf(testSpan{run: "r", trace: i, id: 1, name: "n"}))
	}
	runs := NewRuns(m, RunsOptions{Patience: 100 * time.Millisecond})
	var first sync.WaitGroup
	first.Go(func() { _, _, _ = runs.Open(context.Background(), "r") })
	require.Eventually(t, func() bool { return len(runs.take("r").loading) == 1 }, 5*time.Second, time.Millisecond)
	_, partial := openPart(t, runs, "r")
	require.NotNil(t, partial)
	assert.Equal(t, PartialReading, partial.Reason)
	first.Wait()
	for partial != nil {
		_, partial = openPart(t, runs, "r")
	}
}

func TestAFileThatCannotBeReadIsSaid(t *testing.T) {
	m := &memory{fault: errors.New("input/output error")}
	m.append(lineOf(testSpan{run: "r", trace: 1, id: 1, name: "n"}))
	var warned string
	runs := NewRuns(m, RunsOptions{Warn: func(text string) { warned = text }})
	_, partial := openPart(t, runs, "r")
	require.NotNil(t, partial)
	assert.Equal(t, PartialError, partial.Reason)
	assert.Contains(t, warned, "input/output error")
	m.fault = nil
	run, partial := openPart(t, runs, "r")
	assert.Nil(t, partial)
	assert.Equal(t, int64(1), run.Summary("").Spans)
}

// A trace is settled again and again while it grows; each pair counts once.
func TestClockPairsCountOnce(t *testing.T) {
	m := &memory{}
	runs := NewRuns(m, RunsOptions{})
	m.append(lineOf(testSpan{run: "r", pod: "a", trace: 1, id: 2, parent: 1, name: "child", start: -5, took: 1}))
	m.append(lineOf(testSpan{run: "r", pod: "b", trace: 1, id: 1, name: "root", took: 10}))
	for i := range 5 {
		open(t, runs, "r").Summary("")
		m.append(lineOf(testSpan{run: "r", pod: "b", trace: 1, id: 10 + i, parent: 1, name: "more", took: 1}))
	}
	clock := open(t, runs, "r").Missing("", 10).Clock
	require.Len(t, clock, 1)
	assert.Equal(t, int64(1), clock[0].Pairs)
	assert.Equal(t, int64(5e6), clock[0].BeforeNS)
}
