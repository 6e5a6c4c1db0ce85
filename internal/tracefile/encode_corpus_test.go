package tracefile

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
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
		"xtuner":  corpus(tb, nil),
		"english": corpus(tb, english),
		"chinese": corpus(tb, chinese),
	}
}

// english is two kilobytes of text as an agent writes it, full of quotes and newlines. Every text is
// another one, so that no branch predictor learns it by heart.
func english(random *rand.Rand) string {
	words := strings.Fields("the model reads a question and then it thinks about what to do next before answering " +
		"because every tool call takes time so that reward depends on correctness length format")
	var text strings.Builder
	for text.Len() < 2048 {
		word := words[random.IntN(len(words))]
		switch random.IntN(12) {
		case 0:
			text.WriteString(word + "\n")
		case 1, 2:
			text.WriteString("\"" + word + "\": ")
		case 3:
			text.WriteString(word + ". ")
		default:
			text.WriteString(word + " ")
		}
	}
	return text.String()[:2048]
}

// chinese is two kilobytes of Chinese with its punctuation, some digits, and newlines.
func chinese(random *rand.Rand) string {
	const common = "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所民得经"
	runes := []rune(common)
	var text strings.Builder
	for text.Len() < 2045 {
		switch random.IntN(60) {
		case 0:
			text.WriteString("\n")
		case 1, 2, 3, 4:
			text.WriteString("，")
		case 5, 6:
			text.WriteString("。")
		case 7:
			fmt.Fprint(&text, random.IntN(100))
		case 8:
			text.WriteString("“" + string(runes[random.IntN(len(runes))]) + "”")
		default:
			text.WriteRune(runes[random.IntN(len(runes))])
		}
	}
	return text.String()
}

// corpus is a request as XTuner's trainers send it: 5 attributes on the resource, 9 on each span,
// and, if there is one, a text as a tenth.
func corpus(tb testing.TB, text func(*rand.Rand) string) ptrace.Traces {
	tb.Helper()
	random := rand.New(rand.NewPCG(1, 2))
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
		if text != nil {
			attrs.PutStr("gen_ai.completion", text(random))
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
