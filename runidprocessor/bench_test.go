package runidprocessor

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"syscall"
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
	benchRequests = 200 // a block; also how many different requests there are
	spansPerTrace = 4   // as XTuner's four built-in stages make them
)

// BenchmarkAgainstStock measures the CPU that run_id adds to decoding a request, beside what
// transform (copy run.id and service.name to the spans) and groupbyattrs (run.id) add: `ratio` is
// how many times less. Blocks of the three
// contenders take turns and the median counts, because a noisy machine hits now this and now that.
func BenchmarkAgainstStock(b *testing.B) {
	for _, onSpan := range []bool{false, true} {
		for _, runs := range []int{1, 10_000} {
			b.Run(fmt.Sprintf("run_on_%s/runs=%d", map[bool]string{false: "resource", true: "span"}[onSpan], runs), func(b *testing.B) {
				set := benchSettings(b)
				requests := encodedRequests(b, onSpan, runs)
				nothing := consumertest.NewNop()
				stock := stockChain(b, set, nothing)
				ours := newBenchProcessor(b, NewFactory(), set, nil, nothing)
				var baseCPU, stockCPU, oursCPU []time.Duration
				for b.Loop() {
					baseCPU = append(baseCPU, cpuOf(b, requests, nothing))
					stockCPU = append(stockCPU, cpuOf(b, requests, stock))
					oursCPU = append(oursCPU, cpuOf(b, requests, ours))
				}
				base := median(baseCPU)
				perSpan := float64(benchRequests * benchSpans)
				b.ReportMetric(float64(base)/perSpan, "decode-ns/span")
				b.ReportMetric(float64(median(stockCPU)-base)/perSpan, "stock-ns/span")
				b.ReportMetric(float64(median(oursCPU)-base)/perSpan, "run_id-ns/span")
				b.ReportMetric(float64(median(stockCPU)-base)/float64(median(oursCPU)-base), "ratio")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// BenchmarkRunID is for profiles: run_id alone, decoding included.
func BenchmarkRunID(b *testing.B) {
	for _, tc := range []struct {
		name   string
		onSpan bool
		runs   int
	}{
		{"run_on_resource", false, 1},
		{"run_on_span", true, 1},
		{"runs_on_spans", true, 10_000},
	} {
		b.Run(tc.name, func(b *testing.B) {
			requests := encodedRequests(b, tc.onSpan, tc.runs)
			ours := newBenchProcessor(b, NewFactory(), benchSettings(b), nil, consumertest.NewNop())
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				consume(b, requests[i%len(requests)], ours)
			}
		})
	}
}

// cpuOf returns the CPU time of the whole process, garbage collection included, while next gets
// every request once.
func cpuOf(b *testing.B, requests [][]byte, next consumer.Traces) time.Duration {
	runtime.GC()
	before := processCPU(b)
	for _, r := range requests {
		consume(b, r, next)
	}
	return processCPU(b) - before
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func consume(b *testing.B, request []byte, next consumer.Traces) {
	var decoder ptrace.ProtoUnmarshaler
	td, err := decoder.UnmarshalTraces(request)
	if err != nil {
		b.Fatal(err)
	}
	if err := next.ConsumeTraces(context.Background(), td); err != nil {
		b.Fatal(err)
	}
}

func processCPU(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func benchSettings(b *testing.B) processor.Settings {
	tel := componenttest.NewTelemetry()
	b.Cleanup(func() { require.NoError(b, tel.Shutdown(context.Background())) })
	return processor.Settings{
		TelemetrySettings: tel.NewTelemetrySettings(),
		BuildInfo:         component.NewDefaultBuildInfo(),
	}
}

func stockChain(b *testing.B, set processor.Settings, next consumer.Traces) consumer.Traces {
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
func encodedRequests(b *testing.B, onSpan bool, runs int) [][]byte {
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
		if onSpan {
			attrs.PutStr("host.name", "worker-7")
		} else {
			attrs.PutStr("run.id", benchRun(random.IntN(runs)))
		}
		scope := rs.ScopeSpans().AppendEmpty()
		scope.Scope().SetName("xtuner.v1.rl.trace")
		for k := range benchSpans {
			s := scope.Spans().AppendEmpty()
			fillXTunerSpan(s, random, i*benchSpans+k)
			if onSpan {
				s.Attributes().Remove("finish_reason")
				s.Attributes().PutStr("run.id", benchRun(random.IntN(runs)))
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
