package simulation

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

func newRun(t *testing.T, set Settings) *Run {
	t.Helper()
	run, err := New(set)
	require.NoError(t, err)
	return run
}

// bytesOf are the requests of a run as they go over the wire.
func bytesOf(t *testing.T, run *Run) [][]byte {
	t.Helper()
	var all [][]byte
	for _, request := range run.Requests {
		body, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(request.Traces)
		require.NoError(t, err)
		all = append(all, body)
	}
	return all
}

func TestTheSameSettingsGiveTheSameRun(t *testing.T) {
	for seed := range uint64(5) {
		a, b := newRun(t, Settings{Seed: seed}), newRun(t, Settings{Seed: seed})
		require.Equal(t, bytesOf(t, a), bytesOf(t, b))
		require.Equal(t, a.Truth(), b.Truth())
		require.Equal(t, a.ID, b.ID)
		other := newRun(t, Settings{Seed: seed + 100})
		assert.NotEqual(t, a.ID, other.ID)
		assert.NotEqual(t, bytesOf(t, a)[0], bytesOf(t, other)[0])
	}
}

// wire counts what the requests of a run hold, without the help of the run.
type wire struct {
	spans, copies, errors, unnamed int
	traces                         map[pcommon.TraceID]int
	texts                          map[string]int // string values of attributes
	names                          map[string]int
	byID                           map[pcommon.SpanID]ptrace.Span
	processOf                      map[pcommon.SpanID]string
}

func readWire(t *testing.T, run *Run) wire {
	t.Helper()
	w := wire{
		traces: map[pcommon.TraceID]int{}, texts: map[string]int{}, names: map[string]int{},
		byID: map[pcommon.SpanID]ptrace.Span{}, processOf: map[pcommon.SpanID]string{},
	}
	named := map[pcommon.TraceID]bool{}
	for _, request := range run.Requests {
		for _, rs := range request.Traces.ResourceSpans().All() {
			id, has := rs.Resource().Attributes().Get("run.id")
			if has {
				require.Equal(t, run.ID, id.Str())
			}
			for _, ss := range rs.ScopeSpans().All() {
				for _, sp := range ss.Spans().All() {
					named[sp.TraceID()] = named[sp.TraceID()] || has
					if before, again := w.byID[sp.SpanID()]; again {
						require.Equal(t, before.TraceID(), sp.TraceID())
						w.copies++
						continue
					}
					w.byID[sp.SpanID()] = sp
					service, _ := rs.Resource().Attributes().Get("service.name")
					w.processOf[sp.SpanID()] = service.Str()
				}
			}
		}
	}
	for id, sp := range w.byID {
		if !named[sp.TraceID()] {
			continue
		}
		w.spans++
		w.traces[sp.TraceID()]++
		w.names[sp.Name()]++
		if sp.Status().Code() == ptrace.StatusCodeError {
			w.errors++
		}
		if w.processOf[id] == ServiceEngine {
			w.unnamed++
		}
		for _, v := range sp.Attributes().All() {
			if v.Type() == pcommon.ValueTypeStr {
				w.texts[v.Str()]++
			}
		}
	}
	return w
}

func TestTheTruthIsWhatIsSent(t *testing.T) {
	for seed := range uint64(20) {
		run := newRun(t, Settings{Seed: seed, DriverKilled: seed%2 == 1})
		truth, w := run.Truth(), readWire(t, run)
		assert.Equal(t, w.spans, truth.Spans)
		assert.Len(t, w.traces, truth.Traces)
		assert.Equal(t, w.errors, truth.Errors)
		assert.Equal(t, w.unnamed, truth.Unnamed)
		copies, byProcess, byStage := 0, Count{}, Count{}
		for _, sp := range truth.Repeated {
			copies += sp.Copies - 1
		}
		assert.Equal(t, w.copies, copies)
		for _, p := range truth.Processes {
			byProcess.Spans += p.Spans
			byProcess.Errors += p.Errors
		}
		for _, s := range truth.Stages {
			assert.Equal(t, w.names[s.Name], s.Spans, s.Name)
			assert.Len(t, s.Durations, s.Spans)
			byStage.Spans += s.Spans
			byStage.Errors += s.Errors
		}
		assert.Equal(t, Count{truth.Spans, truth.Errors}, byProcess)
		assert.Equal(t, byProcess, byStage)
		orphans := 0
		rootless := map[pcommon.TraceID]bool{}
		for trace := range w.traces {
			rootless[trace] = true
		}
		for _, sp := range w.byID {
			if sp.ParentSpanID().IsEmpty() {
				delete(rootless, sp.TraceID())
			} else if _, sent := w.byID[sp.ParentSpanID()]; !sent {
				orphans++
			}
		}
		assert.Len(t, truth.Orphans, orphans)
		assert.Len(t, truth.Rootless, len(rootless))
		if seed%2 == 0 {
			assert.Empty(t, truth.Rootless, "only a driver that is killed loses roots")
		}
	}
}

// A run is a demonstration: every kind of thing that can go wrong is there in each of the usual size.
func TestARunHasEverything(t *testing.T) {
	for seed := range uint64(20) {
		run := newRun(t, Settings{Seed: seed})
		truth, w := run.Truth(), readWire(t, run)
		assert.NotEmpty(t, truth.Orphans, "seed %d: the killed worker loses parents of the engine's spans", seed)
		assert.NotEmpty(t, truth.Repeated)
		assert.NotEmpty(t, truth.NoRun)
		assert.Positive(t, truth.Unnamed)
		assert.Positive(t, truth.Errors)
		for _, name := range []string{
			"single_turn_agent_loop.run", "sandbox_agent_loop.run", "rollout.controller.generate",
			"rollout.worker.generate", "llm_request", "judger.run", "acquire", "infer", "validate", "agent.run", "llm_generate",
			"tool_call", "train.step", "train.forward_backward", "train.optimizer_step", "train.sync_weights",
			"rollout.worker.update_weights",
		} {
			assert.Positive(t, w.names[name], name)
		}
		for _, text := range []string{"completed", "aborted", "gsm8k", "cmath", "swe", "web-zh", "stop", "abort"} {
			assert.Positive(t, w.texts[text], "seed %d: %s", seed, text)
		}
		worker := ClockPair{Process: run.cast(t, "rollout-worker-1"), Against: run.cast(t, "rollout-controller-0")}
		behind := truth.Clock[worker]
		// A worker that waited for its turn longer than its clock is behind lies within its parent.
		assert.Greater(t, behind.Outside, behind.Pairs/2)
		assert.InDelta(t, clockBehind, behind.Before, float64(30*time.Millisecond))
		other := truth.Clock[ClockPair{Process: run.cast(t, "rollout-worker-0"), Against: run.cast(t, "rollout-controller-0")}]
		assert.Positive(t, other.Pairs)
		assert.Zero(t, other.Outside)
		assert.True(t, slices.ContainsFunc(run.Processes, func(p *Process) bool { return p.killed > 0 }))
		length := run.Requests[len(run.Requests)-1].At
		assert.Greater(t, length, time.Minute)
		assert.Less(t, length, 8*time.Minute)
	}
}

// cast returns the name of the first process on that host.
func (r *Run) cast(t *testing.T, host string) string {
	t.Helper()
	for _, p := range r.Processes {
		if p.Host == host {
			return p.Name()
		}
	}
	t.Fatalf("no process on %s", host)
	return ""
}

func TestSpeedAndStartMoveTheTimesOnly(t *testing.T) {
	start := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	slow, fast := newRun(t, Settings{Seed: 7}), newRun(t, Settings{Seed: 7, Start: start, Speed: 10})
	a, b := slow.Spans(), fast.Spans()
	require.Len(t, b, len(a))
	for i := range a {
		require.Equal(t, a[i].SpanID, b[i].SpanID)
		want := float64(a[i].Start.Sub(slow.Start)-a[i].Process.Clock) / 10
		require.InDelta(t, want, float64(b[i].Start.Sub(start)-b[i].Process.Clock), 2)
	}
	assert.True(t, strings.HasPrefix(fast.ID, "20270102-030405-"), fast.ID)
	assert.InDelta(t, float64(slow.Requests[9].At)/10, float64(fast.Requests[9].At), 2)
}

// A parent begins before its children and ends behind them, by the clocks of processes that are right.
func TestChildrenLieInTheirParents(t *testing.T) {
	run := newRun(t, Settings{Seed: 3})
	byID := map[pcommon.SpanID]Span{}
	for _, sp := range run.Spans() {
		byID[sp.SpanID] = sp
		require.False(t, sp.End.Before(sp.Start))
	}
	for _, sp := range byID {
		parent, sent := byID[sp.ParentID]
		if sent && sp.Process.Clock == parent.Process.Clock {
			require.False(t, sp.Start.Before(parent.Start), "%s in %s", sp.Name, parent.Name)
			require.False(t, sp.End.After(parent.End), "%s in %s", sp.Name, parent.Name)
		}
	}
}

func TestRequestsComeAfterTheirSpans(t *testing.T) {
	run := newRun(t, Settings{Seed: 1, Speed: 2})
	require.True(t, slices.IsSortedFunc(run.Requests, func(a, b Request) int { return int(a.At - b.At) }))
	for _, request := range run.Requests {
		at := run.Start.Add(request.At + request.Process.Clock)
		for _, sp := range request.Traces.ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
			require.False(t, sp.EndTimestamp().AsTime().After(at))
		}
	}
}

func TestPercentileIsTheNearestRank(t *testing.T) {
	s := StageTruth{Durations: []time.Duration{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}
	assert.Equal(t, time.Duration(5), s.Percentile(50))
	assert.Equal(t, time.Duration(10), s.Percentile(95))
	assert.Equal(t, time.Duration(1), s.Percentile(1))
	assert.Equal(t, time.Duration(55), s.Sum())
}

func TestWrongSettingsAreRefused(t *testing.T) {
	for text, set := range map[string]Settings{
		"steps: -1: must be at least 1":   {Steps: -1},
		"workers: -2: must be at least 1": {Workers: -2},
		"speed: -1: must be above 0":      {Speed: -1},
	} {
		_, err := New(set)
		assert.EqualError(t, err, text)
	}
}
