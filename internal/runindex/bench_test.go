package runindex

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/runspan/runspan/internal/tracefile"
)

// benchLines returns the lines of run r: rollouts of 20 spans, as XTuner makes them, 100 spans a line
// and about 900 bytes a span.
func benchLines(spans int, traceOf func(i int) int) (lines []string) {
	names := []string{"single_turn_agent_loop.run", "rollout.controller.generate", "rollout.worker.generate", "judger.run"}
	for first := 0; first < spans; first += 100 {
		td := ptrace.NewTraces()
		rs := td.ResourceSpans().AppendEmpty()
		for key, value := range map[string]string{"run.id": "r", "service.name": "xtuner-rollout", "k8s.pod.name": fmt.Sprint("worker-", first/100%8)} {
			rs.Resource().Attributes().PutStr(key, value)
		}
		ss := rs.ScopeSpans().AppendEmpty()
		ss.Scope().SetName("xtuner.rl")
		for i := first; i < min(spans, first+100); i++ {
			s := ss.Spans().AppendEmpty()
			s.SetTraceID(traceID(traceOf(i) + 1))
			s.SetSpanID(spanIDBytes(uint64(i+1) * 0x9e3779b97f4a7c15))
			if i%20 != 0 {
				s.SetParentSpanID(spanIDBytes(uint64(i-i%20+1) * 0x9e3779b97f4a7c15))
			}
			s.SetName(names[min(i%20, 3)])
			s.SetKind(ptrace.SpanKindInternal)
			s.SetStartTimestamp(at(int64(i) * 37))
			s.SetEndTimestamp(at(int64(i)*37 + int64(i%1000)))
			a := s.Attributes()
			a.PutStr("run.id", "r")
			a.PutStr("service.name", "xtuner-rollout")
			a.PutStr("xtuner.stage", "infer")
			a.PutStr("xtuner.span_name_path", "single_turn_agent_loop.run -> rollout.controller.generate")
			a.PutStr("xtuner.task_name", "gsm8k")
			a.PutInt("xtuner.rollout_id", int64(i/20))
			a.PutInt("xtuner.group_id", int64(i/160))
			a.PutInt("xtuner.producer_future_step", int64(i/4000))
			a.PutStr("xtuner.status", "completed")
			a.PutDouble("reward.score", 0.5)
		}
		lines = append(lines, string(tracefile.AppendTraces(nil, td)))
	}
	return lines
}

func (m *memory) fixed(lines []string) {
	m.lines, m.version = lines, 1
	for i := range lines {
		m.refs = append(m.refs, LineRef{File: "traces.jsonl", Offset: int64(i)})
	}
}

// BenchmarkOpenRun opens a run of 50,000 spans. The goal is 0.5 s on one core.
func BenchmarkOpenRun(b *testing.B) {
	m := &memory{}
	m.fixed(benchLines(50_000, func(i int) int { return i / 20 }))
	bytes := 0
	for _, line := range m.lines {
		bytes += len(line)
	}
	b.SetBytes(int64(bytes))
	b.ReportAllocs()
	for b.Loop() {
		runs := NewRuns(m, RunsOptions{})
		run, _, err := runs.Open(b.Context(), "r")
		require.NoError(b, err)
		require.Equal(b, int64(50_000), run.Summary("").Spans)
		_, memory := runs.Memory()
		b.ReportMetric(float64(memory)/50_000, "B/span")
	}
}

// BenchmarkTrace brings a trace of 100,000 spans in order. The goal for its whole answer is 300 ms.
func BenchmarkTrace(b *testing.B) {
	m := &memory{}
	m.fixed(benchLines(100_000, func(int) int { return 0 }))
	run, _, err := NewRuns(m, RunsOptions{}).Open(b.Context(), "r")
	require.NoError(b, err)
	for b.Loop() {
		require.Len(b, run.Trace(traceID(1), "").SpanID, 100_000)
	}
}

// BenchmarkQueries asks a run of a million spans.
func BenchmarkQueries(b *testing.B) {
	m := &memory{}
	m.fixed(benchLines(1_000_000, func(i int) int { return i / 20 }))
	run, partial, err := NewRuns(m, RunsOptions{Patience: 1 << 40}).Open(b.Context(), "r")
	require.NoError(b, err)
	require.Nil(b, partial)
	b.Run("summary", func(b *testing.B) {
		for b.Loop() {
			run.Summary("")
		}
	})
	b.Run("stages", func(b *testing.B) {
		for b.Loop() {
			run.stages.filled = false
			run.allStages()
		}
	})
	b.Run("traces", func(b *testing.B) {
		for b.Loop() {
			_, _, _, _, err := run.Traces(b.Context(), TraceFilter{}, Page{Sort: "-duration", Limit: 100}) //nolint:dogsled // only the time counts
			require.NoError(b, err)
		}
	})
	b.Run("search", func(b *testing.B) {
		for b.Loop() {
			run.search.last = nil
			_, err := run.find(b.Context(), "nothing has it")
			require.NoError(b, err)
		}
	})
}
