package runindex

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// randomRun returns lines of run r, and its spans, some of them twice.
func randomRun(seed uint64, n int) (lines []string, spans []testSpan) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range n {
		trace := rng.IntN(n/5 + 1)
		parent := 0
		if rng.IntN(4) > 0 {
			parent = rng.IntN(n) + 1
		}
		service := fmt.Sprintf("service-%d", rng.IntN(3))
		spans = append(spans, testSpan{
			run: "r", service: service, pod: fmt.Sprintf("pod-%d", rng.IntN(3)), trace: trace, id: i + 1, parent: parent,
			name: fmt.Sprintf("stage-%d", rng.IntN(4)), start: int64(rng.IntN(1000)), took: int64(rng.IntN(50)), failed: rng.IntN(5) == 0,
		})
	}
	for at := 0; at < n; {
		end := min(n, at+1+rng.IntN(8))
		lines = append(lines, lineOf(spans[at:end]...))
		if rng.IntN(5) == 0 {
			lines = append(lines, lines[rng.IntN(len(lines))])
		}
		at = end
	}
	return lines, spans
}

// The definition of the nearest rank, word for word.
func rank(values []int64, percent float64) int64 {
	values = slices.Clone(values)
	slices.Sort(values)
	n := int(math.Ceil(percent / 100 * float64(len(values))))
	return values[max(n, 1)-1]
}

func TestStagesAreExact(t *testing.T) {
	for seed := range uint64(20) {
		lines, spans := randomRun(seed, 200+int(seed))
		run, _ := openAll(t, lines...)
		for _, service := range []string{"", "service-1"} {
			want := map[string][]int64{}
			failed := map[string]int64{}
			for _, s := range spans {
				if service == "" || s.service == service {
					key := s.name + " " + s.service
					want[key] = append(want[key], s.took*1e6)
					if s.failed {
						failed[key]++
					}
				}
			}
			stages, matched, next, err := run.Stages(service, Page{Sort: "-sum", Limit: 100})
			require.NoError(t, err)
			require.Empty(t, next)
			require.Len(t, stages, len(want))
			require.Equal(t, len(want), matched)
			for i, s := range stages {
				took := want[s.Name+" "+s.Service]
				require.Equal(t, Stage{
					Name: s.Name, Service: s.Service, Count: int64(len(took)), Errors: failed[s.Name+" "+s.Service],
					P50: rank(took, 50), P95: rank(took, 95), P99: rank(took, 99), Max: slices.Max(took), Sum: sum(took),
				}, s)
				require.True(t, i == 0 || stages[i-1].Sum >= s.Sum)
			}
		}
	}
}

func sum(values []int64) (total int64) {
	for _, v := range values {
		total += v
	}
	return total
}

func TestPagesHoldEveryTraceOnceInOrder(t *testing.T) {
	lines, spans := randomRun(7, 900)
	run, _ := openAll(t, lines...)
	traces := map[int]bool{}
	for _, s := range spans {
		traces[s.trace] = true
	}
	for _, column := range TraceSorts {
		for _, desc := range []string{"", "-"} {
			number := func(tr Trace) int64 {
				return map[string]int64{"start": int64(tr.Start), "duration": tr.DurationNS, "spans": tr.Spans, "errors": tr.Errors}[column]
			}
			for _, limit := range []int{1, 7, 1000} {
				var all []Trace
				page := Page{Sort: desc + column, Limit: limit}
				for {
					got, matched, next, partial, err := run.Traces(t.Context(), TraceFilter{}, page)
					require.NoError(t, err)
					require.Nil(t, partial)
					require.Equal(t, len(traces), matched)
					all = append(all, got...)
					if page.After = next; next == "" {
						break
					}
					require.Len(t, got, limit)
				}
				require.Len(t, all, len(traces))
				seen := map[string]bool{}
				for i, tr := range all {
					require.False(t, seen[tr.TraceID])
					seen[tr.TraceID] = true
					if i > 0 {
						before, now := number(all[i-1]), number(tr)
						if desc != "" {
							before, now = now, before
						}
						require.LessOrEqual(t, before, now)
					}
				}
			}
		}
	}
	_, _, _, _, err := run.Traces(t.Context(), TraceFilter{}, Page{Sort: "start", Limit: 1, After: "!"}) //nolint:dogsled // only the error counts
	assert.ErrorIs(t, err, ErrPage)
}

func TestTraceFilters(t *testing.T) {
	run, _ := openAll(t, lineOf(
		testSpan{run: "r", service: "a", trace: 1, id: 1, name: "Rollout", took: 5, attribute: `He said "NO" \o/`},
		testSpan{run: "r", service: "b", trace: 1, id: 2, parent: 1, name: "child", start: 1, took: 1},
	), lineOf(
		testSpan{run: "r", service: "a", trace: 2, id: 1, name: "step", took: 50, failed: true, message: "Out of Memory"},
		testSpan{run: "other", service: "a", trace: 9, id: 1, name: "rollout"},
	), lineOf(
		testSpan{run: "r", service: "c", trace: 0xabc, id: 1, name: "模型", took: 500, attribute: "你好 ÄRGER"},
	))
	for _, tc := range []struct {
		name   string
		filter TraceFilter
		want   []int
	}{
		{"all", TraceFilter{}, []int{1, 2, 0xabc}},
		{"service", TraceFilter{Service: "b"}, []int{1}},
		{"unknown service", TraceFilter{Service: "x"}, nil},
		{"errors", TraceFilter{Errors: true}, []int{2}},
		{"at least", TraceFilter{MinNS: 50e6}, []int{2, 0xabc}},
		{"at most", TraceFilter{MaxNS: 50e6}, []int{1, 2}},
		{"a name in any case", TraceFilter{Text: "ROLL"}, []int{1}},
		{"a message", TraceFilter{Text: "of mem"}, []int{2}},
		{"an attribute with escapes", TraceFilter{Text: `"no" \O`}, []int{1}},
		{"a trace id", TraceFilter{Text: "ABC"}, []int{0xabc}},
		{"a name that is not ASCII", TraceFilter{Text: "模"}, []int{0xabc}},
		{"an attribute that is not ASCII", TraceFilter{Text: "好 ärger"}, []int{0xabc}},
		{"a key", TraceFilter{Text: "startTimeUnixNano"}, nil},
		{"nothing", TraceFilter{Text: "no such words"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for range 2 { // the second time from what is remembered
				traces, matched, _, partial, err := run.Traces(t.Context(), tc.filter, Page{Sort: "start", Limit: 10})
				require.NoError(t, err)
				require.Nil(t, partial)
				var got []string
				for _, tr := range traces {
					got = append(got, tr.TraceID)
				}
				var want []string
				for _, trace := range tc.want {
					want = append(want, fmt.Sprintf("%032x", trace))
				}
				assert.ElementsMatch(t, want, got)
				assert.Equal(t, len(want), matched)
			}
		})
	}
}

func TestSearchReadsALineOnce(t *testing.T) {
	m := &memory{}
	runs := NewRuns(m, RunsOptions{})
	for i := range 10 {
		m.append(lineOf(testSpan{run: "r", trace: i, id: 1, name: "n", attribute: fmt.Sprint("needle ", i%2)}))
		run := open(t, runs, "r")
		_, matched, _, _, err := run.Traces(t.Context(), TraceFilter{Text: "needle 1"}, Page{Sort: "start", Limit: 10})
		require.NoError(t, err)
		assert.Equal(t, (i+1)/2, matched)
		assert.Equal(t, 2*(i+1), m.reads, "once for the run, once for the search")
	}
	m.replace(lineOf(testSpan{run: "r", trace: 1, id: 1, name: "n", attribute: "needle 1"}))
	_, matched, _, _, err := open(t, runs, "r").Traces(t.Context(), TraceFilter{Text: "needle 1"}, Page{Sort: "start", Limit: 10})
	require.NoError(t, err)
	assert.Equal(t, 1, matched)
}

func TestSummary(t *testing.T) {
	line := lineOf(
		testSpan{run: "r", service: "trainer", pod: "trainer-0", trace: 1, id: 1, name: "root", start: 0, took: 10_000},
		testSpan{run: "r", service: "trainer", pod: "trainer-0", trace: 1, id: 2, parent: 1, name: "child", start: 3000, took: 1000, failed: true},
		testSpan{run: "r", service: "engine", pod: "engine-0", trace: 1, id: 3, parent: 2, name: "generate", start: 2900, took: 1300},
		testSpan{run: "r", service: "engine", pod: "engine-0", trace: 2, id: 1, parent: 7, name: "orphan", start: 5000, took: 1},
	)
	run, _ := openAll(t, line, line)
	s := run.Summary("")
	assert.Equal(t, int64(4), s.Spans)
	assert.Equal(t, int64(2), s.Traces)
	assert.Equal(t, int64(1), s.Errors)
	assert.True(t, s.Live)
	assert.Equal(t, int64(10_000*1e6), s.DurationNS)
	assert.Equal(t, []SummaryService{{"engine", 2, 0}, {"trainer", 2, 1}}, s.Services)
	assert.Equal(t, []SummaryProcess{
		{"engine-0", "k8s.pod.name", "engine", 2, 0, Time(at(2900)), Time(at(5001))},
		{"trainer-0", "k8s.pod.name", "trainer", 2, 1, Time(at(0)), Time(at(10_000))},
	}, s.Processes)
	assert.Equal(t, MissingCounts{Orphans: 1, RootlessTraces: 1, Duplicates: 4, Clock: 1}, s.Missing)
	assert.Equal(t, int64(50*1e6), s.Rate.StepNS)
	assert.Equal(t, Time(at(0)), s.Rate.Start)
	assert.Equal(t, int64(4), sum(s.Rate.Spans))
	assert.Equal(t, int64(1), s.Rate.Errors[60])
	assert.LessOrEqual(t, len(s.Rate.Spans), rateSteps)

	m := run.Missing("", 2)
	assert.Equal(t, []Orphan{{
		TraceID: fmt.Sprintf("%032x", 2), SpanID: fmt.Sprintf("%016x", 1), ParentSpanID: fmt.Sprintf("%016x", 7), Name: "orphan", Service: "engine",
	}}, m.Orphans.Spans)
	assert.Equal(t, int64(4), m.Duplicates.Count)
	assert.Len(t, m.Duplicates.Spans, 2)
	assert.Equal(t, int64(2), m.Duplicates.Spans[0].Copies)
	assert.Equal(t, "orphan", m.RootlessTraces.Traces[0].Root)
	assert.Equal(t, []ClockPair{{
		Process: "engine-0", Against: "trainer-0", Pairs: 1, Outside: 1, BeforeNS: 100e6, AfterNS: 200e6,
		Example: ClockSample{TraceID: fmt.Sprintf("%032x", 1), SpanID: fmt.Sprintf("%016x", 3)},
	}}, m.Clock)
}

// No time of a span, however wrong, takes more steps than there may be.
func TestRateIsBounded(t *testing.T) {
	for _, last := range []int64{0, 1, 239, 240, 241, 999, 86_400_000, 3e12, 7e12} {
		run, _ := openAll(t, lineOf(testSpan{run: "r", trace: 1, id: 1, start: 3 - epoch}, testSpan{run: "r", trace: 1, id: 2, start: 3 - epoch + last}))
		rate := run.Summary("").Rate
		assert.LessOrEqual(t, len(rate.Spans), rateSteps, last)
		assert.Equal(t, int64(2), sum(rate.Spans))
	}
}

func TestSpanIsReadBackInFull(t *testing.T) {
	line := lineOf(testSpan{run: "r", service: "s", pod: "p", trace: 1, id: 2, name: "<b>", start: 1, took: 2, attribute: "value", message: "why", failed: true})
	run, _ := openAll(t, lineOf(testSpan{run: "r", trace: 1, id: 1}), line, line)
	span, err := run.Span(traceID(1), spanIDBytes(2), "")
	require.NoError(t, err)
	assert.Equal(t, Place{File: "traces.jsonl", Offset: 1}, span.Place)
	assert.Equal(t, int64(2), span.Copies)
	assert.Equal(t, int64(2e6), span.DurationNS)
	assert.Equal(t, "p", span.Process)
	var whole struct {
		ResourceSpans []struct {
			Resource   any
			ScopeSpans []struct {
				Scope any
				Spans []any
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(line), &whole))
	for want, got := range map[any]json.RawMessage{&whole.ResourceSpans[0].Resource: span.Resource, &whole.ResourceSpans[0].ScopeSpans[0].Spans[0]: span.Span} {
		var value any
		require.NoError(t, json.Unmarshal(got, &value))
		assert.Equal(t, *want.(*any), value)
	}
	missing, err := run.Span(traceID(1), spanIDBytes(3), "")
	require.NoError(t, err)
	assert.Nil(t, missing)
}

func TestTimesInJSON(t *testing.T) {
	text, err := json.Marshal([]Time{0, Time(time.Date(2026, 12, 1, 10, 15, 0, 500_000_000, time.UTC).UnixNano())})
	require.NoError(t, err)
	assert.JSONEq(t, `[null,"2026-12-01T10:15:00.5Z"]`, string(text))
}

func TestRunsAreListed(t *testing.T) {
	s := &Snapshot{}
	for i := range 50 {
		s.Runs = append(s.Runs, &RunInfo{
			ID: fmt.Sprintf("run/%02d", i), Spans: int64(i % 3), First: int64(i + 1), Last: int64(100 - i),
			Services: []ServiceInfo{{Service: "trainer", Spans: 1}, {Service: fmt.Sprint("engine-", i%2), Spans: 2, Errors: 1}},
		})
	}
	for _, column := range RunSorts {
		var ids []string
		page := Page{Sort: column, Limit: 7}
		for {
			runs, matched, next, err := s.List(RunQuery{Page: page})
			require.NoError(t, err)
			require.Equal(t, 50, matched)
			for _, r := range runs {
				ids = append(ids, r.RunID)
			}
			if page.After = next; next == "" {
				break
			}
		}
		slices.Sort(ids)
		require.Len(t, slices.Compact(ids), 50, column)
	}
	runs, matched, _, err := s.List(RunQuery{Service: "engine-1", Text: "RUN/1", Page: Page{Sort: "-run_id", Limit: 2}})
	require.NoError(t, err)
	assert.Equal(t, 5, matched)
	assert.Equal(t, "run/19", runs[0].RunID)
	assert.Equal(t, int64(2), runs[0].Spans)
	assert.True(t, strings.HasSuffix(runs[1].RunID, "17"))
}
