// Package spans makes the requests that the benchmarks send: spans as XTuner makes them, as the raw
// bytes of an OTLP export request.
package spans

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Naming says where a request names its runs.
type Naming string

// The ways in which requests name their runs.
const (
	// OnResource: the resource has the run.id; all spans of a request are of one run. XTuner does so.
	OnResource Naming = "resource"
	// OnSpans: each span has the run.id, the resource has none; all spans of a request are of one run.
	OnSpans Naming = "spans"
	// Mixed: each span has its own run.id and the next span that of the next run, as a collector in
	// front that batches the spans of many runs may send them.
	Mixed Naming = "mixed"
)

// Shape describes the requests of a workload.
type Shape struct {
	Spans      int    `json:"spans_per_request"`   // spans in a request, at least 1
	Attributes int    `json:"attributes_per_span"` // attributes of a span, at least 1, beside a run.id of its own
	Runs       int    `json:"runs"`                // how many runs the spans are of, at least 1
	Naming     Naming `json:"run_named_on"`
}

// XTuner is the shape of one training run: 200 spans a request, 9 attributes a span and 5 on the
// resource, the run named on the resource.
var XTuner = Shape{Spans: 200, Attributes: 9, Runs: 1, Naming: OnResource}

// Check reports a shape that no request can have.
func (s Shape) Check() error {
	for name, n := range map[string]int{"spans a request": s.Spans, "attributes a span": s.Attributes, "runs": s.Runs} {
		if n < 1 {
			return fmt.Errorf("%s: %d: must be at least 1", name, n)
		}
	}
	switch s.Naming {
	case OnResource, OnSpans, Mixed:
		return nil
	default:
		return fmt.Errorf("run named on %q: must be %q, %q or %q", s.Naming, OnResource, OnSpans, Mixed)
	}
}

// spansPerTrace: a rollout is one trace of four spans, one for each of XTuner's built-in stages.
const spansPerTrace = 4

// stages are the spans of a rollout, parents first. path holds the stages from the root to the span.
var stages = [spansPerTrace]struct {
	name string
	path []int
}{
	{"single_turn_agent_loop.run", []int{0}},
	{"rollout.controller.generate", []int{0, 1}},
	{"rollout.worker.generate", []int{0, 1, 2}},
	{"judger.run", []int{0, 3}},
}

// Values of 2025-12-01 12:00 UTC, fixed so that every run sends the same bytes.
const (
	runPrefix  = "20251201-120000-4242-" // XTuner: local time, process id, 8 hex digits
	startNanos = 1_764_590_400_000_000_000
)

// build returns one request with markers in place of everything that stamp writes.
func build(s Shape) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	resource := rs.Resource().Attributes()
	resource.PutStr("telemetry.sdk.language", "python")
	resource.PutStr("telemetry.sdk.name", "opentelemetry")
	resource.PutStr("telemetry.sdk.version", "1.38.0")
	resource.PutStr("service.name", "xtuner-agent-rollout")
	if s.Naming == OnResource {
		resource.PutStr("run.id", runPrefix+runMarker)
	}
	scope := rs.ScopeSpans().AppendEmpty()
	scope.Scope().SetName("xtuner.v1.rl.trace")
	scope.Spans().EnsureCapacity(s.Spans)
	for i := range s.Spans {
		fillSpan(scope.Spans().AppendEmpty(), i)
		attrs := scope.Spans().At(i).Attributes()
		putAttributes(attrs, i, s.Attributes)
		if s.Naming != OnResource {
			attrs.PutStr("run.id", runPrefix+runMarker)
		}
	}
	return td
}

func fillSpan(span ptrace.Span, i int) {
	stage := stages[i%spansPerTrace]
	span.SetTraceID(traceID(i / spansPerTrace))
	span.SetSpanID(spanID(i))
	if above := len(stage.path) - 2; above >= 0 {
		span.SetParentSpanID(spanID(i - i%spansPerTrace + stage.path[above]))
	}
	span.SetName(stage.name)
	span.SetKind(ptrace.SpanKindInternal)
	start := uint64(startNanos + i*1_000_003)
	span.SetStartTimestamp(pcommon.Timestamp(start))
	span.SetEndTimestamp(pcommon.Timestamp(start + 7_654_321))
}

// putAttributes puts the first n attributes of an XTuner span, and further strings beyond its nine.
func putAttributes(attrs pcommon.Map, i, n int) {
	trace, stage := i/spansPerTrace, stages[i%spansPerTrace]
	attrs.EnsureCapacity(n + 1)
	put := []func(){
		func() { attrs.PutInt("xtuner.producer_future_step", 17) },
		func() { attrs.PutStr("xtuner.task_name", "gsm8k") },
		func() { attrs.PutInt("xtuner.group_id", int64(trace/8)) },
		func() { attrs.PutInt("xtuner.rollout_id", int64(1000+trace)) },
		func() { attrs.PutInt("xtuner.session_id", int64(1000+trace)) },
		func() { attrs.PutStr("xtuner.status", "completed") },
		func() { attrs.PutStr("xtuner.stage", stage.name) },
		func() {
			path := attrs.PutEmptySlice("xtuner.span_name_path")
			for _, k := range stage.path {
				path.AppendEmpty().SetStr(stages[k].name)
			}
		},
		func() { attrs.PutInt("completion.tokens", int64(100+i)) },
	}
	for k := range n {
		if k < len(put) {
			put[k]()
		} else {
			attrs.PutStr(fmt.Sprintf("recipe.extra.%02d", k), "a value of usual length")
		}
	}
}
