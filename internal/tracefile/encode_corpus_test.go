package tracefile

import (
	"encoding/binary"
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

// english is two kilobytes as an agent writes them, full of quotes and newlines. Every text is
// another one, so that no branch predictor learns it by heart.
func english(random *rand.Rand) string {
	return textOf(random, []string{
		"The user asks: \"How many apples are left?\"\n",
		"I should call the \"calculator\" tool before I answer.\n\n",
		"{\"tool\": \"bash\", \"arguments\": {\"command\": \"ls -la /data\"}}\n",
		"{\"role\": \"assistant\", \"content\": \"Let me look at the file first.\"}\n",
		"print(\"hello\")\n",
		"The file \"results.json\" holds three rows; the second one has no \"score\".\n",
		"- \"train\" has 7473 rows\n- \"test\" has 1319 rows\n",
		"Step 1: read the question.\nStep 2: write down what is known.\n",
		"She said \"twelve\", he said \"no, seven\", and the judge agreed with him.\n",
		"So the answer is \"7\".\n#### 7\n",
	})
}

// chinese is the same in Chinese, with its punctuation, some digits and some Latin words.
func chinese(random *rand.Rand) string {
	return textOf(random, []string{
		"模型先读取题目，然后逐步推理，最后给出答案。",
		"小明有十二个苹果，给了小红五个，请问他还剩下几个苹果？\n",
		"我们可以先列出已知条件，再根据题意建立方程，这样就不容易出错。",
		"用户说：“请把这段代码改写成更容易维护的形式，并说明理由。”\n",
		"首先检查输入是否为空；如果为空，就直接返回错误信息。",
		"根据上面的分析，奖励为0.75，验证通过。\n",
		"强化学习的目标是让策略在长期内获得尽可能高的回报，而不是只看眼前的一步。",
		"因此，答案是7。\n",
		"这个结果与参考答案一致，所以本次回答被判定为正确。\n\n",
		"工具调用失败以后，智能体重新规划了路线，并在第二次尝试时取得了成功。",
	})
}

// textOf is sentences in random order, two kilobytes of them.
func textOf(random *rand.Rand, sentences []string) string {
	var text strings.Builder
	for text.Len() < 2048 {
		text.WriteString(sentences[random.IntN(len(sentences))])
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
