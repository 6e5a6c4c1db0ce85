package tracefile

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

const spansPerRequest = 200

// corpora are the three kinds of request that the speed of the encoder is measured on, decoded from
// protobuf as the receiver decodes them.
func corpora(tb testing.TB) map[string]ptrace.Traces {
	tb.Helper()
	return map[string]ptrace.Traces{
		"xtuner":  corpus(tb, ""),
		"english": corpus(tb, filled(english, 2048)),
		"chinese": corpus(tb, filled(chinese, 2048)),
	}
}

const (
	english = "The agent said: \"I will run `ls -la` first.\"\n" +
		"{\"tool\": \"bash\", \"arguments\": {\"command\": \"ls -la /data\\\\x\"}}\n" +
		"Then it wrote a short answer, and the judge read it twice before it gave 0.5 points.\n\n"
	chinese = "模型先读取题目，然后逐步推理：小明有十二个苹果，给了小红五个，还剩几个？答案是七个。" +
		"奖励为1.0，验证通过。\n"
)

// filled is text over and over, cut to at most size bytes at the border of a line.
func filled(text string, size int) string {
	return strings.Repeat(text, max(1, size/len(text)))
}

// corpus is a request as XTuner's trainers send it: 5 attributes on the resource, 9 on each span,
// and, unless it is empty, text as a tenth.
func corpus(tb testing.TB, text string) ptrace.Traces {
	tb.Helper()
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	res := rs.Resource().Attributes()
	res.PutStr("telemetry.sdk.language", "python")
	res.PutStr("telemetry.sdk.name", "opentelemetry")
	res.PutStr("telemetry.sdk.version", "1.38.0")
	res.PutStr("service.name", "xtuner-agent-rollout")
	res.PutStr("run.id", "20260801-101530-4242-9f8e7d6c")
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("xtuner.v1.rl.trace")
	stages := []string{"single_turn_agent_loop.run", "rollout.controller.generate", "rollout.worker.generate", "judger.run"}
	for i := range spansPerRequest {
		span := ss.Spans().AppendEmpty()
		stage := stages[i%len(stages)]
		span.SetTraceID(traceID(uint64(i / len(stages))))
		span.SetSpanID(spanID(uint64(i)))
		if i%len(stages) > 0 {
			span.SetParentSpanID(spanID(uint64(i - 1)))
		}
		span.SetFlags(0x100)
		span.SetName(stage)
		span.SetKind(ptrace.SpanKindInternal)
		span.SetStartTimestamp(pcommon.Timestamp(1_785_000_000_123_456_789 + i*1_000_003))
		span.SetEndTimestamp(pcommon.Timestamp(1_785_000_002_123_456_789 + i*1_000_003))
		attrs := span.Attributes()
		attrs.PutStr("xtuner.stage", stage)
		attrs.PutStr("xtuner.span_name_path", strings.Join(stages[:i%len(stages)+1], " -> "))
		attrs.PutStr("xtuner.task_name", "gsm8k")
		attrs.PutInt("xtuner.group_id", int64(i/16))
		attrs.PutInt("xtuner.rollout_id", int64(1000+i))
		attrs.PutInt("xtuner.producer_future_step", 17)
		attrs.PutStr("xtuner.status", "completed")
		attrs.PutInt("completion.tokens", int64(700+i*3))
		attrs.PutDouble("reward.score", float64(i%5)/4)
		if text != "" {
			attrs.PutStr("gen_ai.completion", fmt.Sprintf("%03d %s", i, text))
		}
	}
	return decoded(tb, td)
}

func decoded(tb testing.TB, td ptrace.Traces) ptrace.Traces {
	tb.Helper()
	var m ptrace.ProtoMarshaler
	wire, err := m.MarshalTraces(td)
	require.NoError(tb, err)
	var u ptrace.ProtoUnmarshaler
	td, err = u.UnmarshalTraces(wire)
	require.NoError(tb, err)
	return td
}

// traceID and spanID spread n over all bytes of an id, as random ids are.
func traceID(n uint64) (id pcommon.TraceID) {
	binary.BigEndian.PutUint64(id[:8], (n+1)*0x9e3779b97f4a7c15)
	binary.BigEndian.PutUint64(id[8:], (n+1)*0xbf58476d1ce4e5b9)
	return id
}

func spanID(n uint64) (id pcommon.SpanID) {
	binary.BigEndian.PutUint64(id[:], (n+1)*0x94d049bb133111eb)
	return id
}
