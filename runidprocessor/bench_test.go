package runidprocessor

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/groupbyattrsprocessor"
	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/transformprocessor"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor"
)

const (
	benchSpans    = 200 // a request
	benchRequests = 200 // that differ
	spansPerTrace = 4   // as XTuner's four built-in stages make them
)

// BenchmarkAgainstStock measures the time of run_id on a request, beside that of transform (copy
// run.id and service.name to the spans) and groupbyattrs (run.id): `ratio` is how many times less.
// The two take turns at every request and the median of each counts: decoding takes several times
// as long, so that a difference of whole runs would drown in what else the machine does.
func BenchmarkAgainstStock(b *testing.B) {
	for _, tc := range benchCases {
		b.Run(tc.name, func(b *testing.B) {
			set := benchSettings(b)
			requests := encodedRequests(b, tc)
			stock := stockChain(b, set, consumertest.NewNop())
			ours := newBenchProcessor(b, NewFactory(), set, nil, consumertest.NewNop())
			var stockTimes, oursTimes []time.Duration
			for i := 0; b.Loop(); i++ {
				r := requests[i%len(requests)]
				stockTimes = append(stockTimes, timeOf(b, r, stock))
				oursTimes = append(oursTimes, timeOf(b, r, ours))
			}
			stockTime, oursTime := median(stockTimes), median(oursTimes)
			b.ReportMetric(float64(stockTime)/benchSpans, "stock-ns/span")
			b.ReportMetric(float64(oursTime)/benchSpans, "run_id-ns/span")
			b.ReportMetric(float64(stockTime)/float64(oursTime), "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// timeOf returns how long next takes for a request, decoding not included.
func timeOf(b *testing.B, request []byte, next consumer.Traces) time.Duration {
	b.Helper()
	td := decoded(b, request)
	start := time.Now()
	if err := next.ConsumeTraces(context.Background(), td); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// benchCases: where the run stands, how many runs there are, and how many of them meet in a request.
var benchCases = []benchCase{
	{"run_on_resource/runs=1", false, 1, 1},
	{"run_on_resource/runs=10000", false, 10_000, 1},
	{"run_on_span/runs=1", true, 1, 1},
	{"run_on_span/runs=10000", true, 10_000, 1},
	{"run_on_span/runs=10000/8_in_a_request", true, 10_000, 8},
	{"run_on_span/runs=10000/200_in_a_request", true, 10_000, 200},
}

type benchCase struct {
	name      string
	onSpan    bool
	runs      int
	inRequest int
}

// BenchmarkRunID is for profiles and for the bytes that run_id adds to decoding.
func BenchmarkRunID(b *testing.B) {
	for _, tc := range benchCases {
		requests := encodedRequests(b, tc)
		for _, contender := range []struct {
			name string
			next consumer.Traces
		}{
			{"decode", consumertest.NewNop()},
			{"stock", stockChain(b, benchSettings(b), consumertest.NewNop())},
			{"run_id", newBenchProcessor(b, NewFactory(), benchSettings(b), nil, consumertest.NewNop())},
		} {
			b.Run(tc.name+"/"+contender.name, func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					timeOf(b, requests[i%len(requests)], contender.next)
				}
			})
		}
	}
}

func decoded(b *testing.B, request []byte) ptrace.Traces {
	b.Helper()
	var decoder ptrace.ProtoUnmarshaler
	td, err := decoder.UnmarshalTraces(request)
	if err != nil {
		b.Fatal(err)
	}
	return td
}

func benchSettings(b *testing.B) processor.Settings {
	b.Helper()
	tel := componenttest.NewTelemetry()
	b.Cleanup(func() { require.NoError(b, tel.Shutdown(context.Background())) })
	return processor.Settings{
		TelemetrySettings: tel.NewTelemetrySettings(),
		BuildInfo:         component.NewDefaultBuildInfo(),
	}
}

func stockChain(b *testing.B, set processor.Settings, next consumer.Traces) consumer.Traces {
	b.Helper()
	group := newBenchProcessor(b, groupbyattrsprocessor.NewFactory(), set, map[string]any{
		"keys": []any{"run.id"},
	}, next)
	return newBenchProcessor(b, transformprocessor.NewFactory(), set, map[string]any{
		"trace_statements": []any{
			map[string]any{
				"context": "span",
				"statements": []any{
					`set(attributes["run.id"], resource.attributes["run.id"])`,
					`set(attributes["service.name"], resource.attributes["service.name"])`,
				},
			},
		},
	}, group)
}

func newBenchProcessor(
	b *testing.B, f processor.Factory, set processor.Settings, settings map[string]any, next consumer.Traces,
) processor.Traces {
	b.Helper()
	set.ID = component.NewID(f.Type())
	cfg := f.CreateDefaultConfig()
	require.NoError(b, confmap.NewFromStringMap(settings).Unmarshal(cfg))
	p, err := f.CreateTraces(context.Background(), set, cfg, next)
	require.NoError(b, err)
	require.NoError(b, p.Start(context.Background(), componenttest.NewNopHost()))
	b.Cleanup(func() { require.NoError(b, p.Shutdown(context.Background())) })
	return p
}

// encodedRequests returns requests of spans as XTuner makes them: 9 attributes a span and 5 on the
// resource, the run among the one or the other.
func encodedRequests(b *testing.B, tc benchCase) [][]byte {
	b.Helper()
	var encoder ptrace.ProtoMarshaler
	out := make([][]byte, benchRequests)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range out {
		td := ptrace.NewTraces()
		rs := td.ResourceSpans().AppendEmpty()
		attrs := rs.Resource().Attributes()
		attrs.PutStr("telemetry.sdk.language", "python")
		attrs.PutStr("telemetry.sdk.name", "opentelemetry")
		attrs.PutStr("telemetry.sdk.version", "1.39.1")
		attrs.PutStr("service.name", "xtuner-rollout")
		if tc.onSpan {
			attrs.PutStr("host.name", "worker-7")
		} else {
			attrs.PutStr("run.id", benchRun(random.IntN(tc.runs)))
		}
		scope := rs.ScopeSpans().AppendEmpty()
		scope.Scope().SetName("xtuner.v1.rl.trace")
		first := random.IntN(tc.runs)
		for k := range benchSpans {
			s := scope.Spans().AppendEmpty()
			fillXTunerSpan(s, random, i*benchSpans+k)
			if tc.onSpan {
				s.Attributes().Remove("finish_reason")
				run := first + k/spansPerTrace%tc.inRequest
				if tc.inRequest == benchSpans {
					run = first + k
				}
				s.Attributes().PutStr("run.id", benchRun(run%tc.runs))
			}
		}
		var err error
		out[i], err = encoder.MarshalTraces(td)
		require.NoError(b, err)
	}
	return out
}

func benchRun(i int) string { return fmt.Sprintf("20261201-101500-%d-0a1b2c3d", 10_000+i) }

func fillXTunerSpan(s ptrace.Span, random *rand.Rand, n int) {
	var trace pcommon.TraceID
	binary.LittleEndian.PutUint64(trace[:8], uint64(n/spansPerTrace+1)*0x9e3779b97f4a7c15)
	binary.LittleEndian.PutUint64(trace[8:], uint64(n/spansPerTrace+1)*0xbf58476d1ce4e5b9)
	var id pcommon.SpanID
	binary.LittleEndian.PutUint64(id[:], random.Uint64()|1)
	s.SetTraceID(trace)
	s.SetSpanID(id)
	s.SetParentSpanID(id)
	s.SetName("rollout.worker.generate")
	s.SetStartTimestamp(pcommon.Timestamp(1_790_000_000_000_000_000 + n))
	s.SetEndTimestamp(pcommon.Timestamp(1_790_000_001_000_000_000 + n))
	a := s.Attributes()
	a.PutStr("xtuner.stage", "rollout.worker.generate")
	a.PutStr("xtuner.span_name_path", "single_turn_agent_loop.run -> rollout.controller.generate -> rollout.worker.generate")
	a.PutInt("xtuner.rollout_id", int64(n))
	a.PutInt("xtuner.group_id", int64(n/8))
	a.PutStr("xtuner.task_name", "gsm8k")
	a.PutInt("xtuner.producer_future_step", 12)
	a.PutStr("xtuner.status", "completed")
	a.PutInt("completion.tokens", int64(random.IntN(4096)))
	a.PutStr("finish_reason", "stop")
}
