package runidprocessor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/xpdata"
)

// FuzzProtobuf feeds the processor whatever decodes as an OTLP message.
func FuzzProtobuf(f *testing.F) {
	for _, td := range seeds(f) {
		var encoder ptrace.ProtoMarshaler
		b, err := encoder.MarshalTraces(td)
		require.NoError(f, err)
		f.Add(uint16(0), b)
		f.Add(uint16(0xffff), b)
		// Glued together, messages add up: lists grow, fields of one message come twice.
		f.Add(uint16(1<<5), append(b, b...))
	}
	f.Fuzz(func(t *testing.T, settings uint16, message []byte) {
		var decoder ptrace.ProtoUnmarshaler
		td, err := decoder.UnmarshalTraces(message)
		if err != nil {
			return
		}
		requireInvariants(t, fuzzedConfig(settings), td)
	})
}

// FuzzStructured builds requests from the keys and values that the rules are about: random bytes
// seldom hit them.
func FuzzStructured(f *testing.F) {
	f.Add(uint16(0), []byte("0123456789abcdefghijklmnopqrstuvwxyz"))
	f.Add(uint16(1<<6), []byte(strings.Repeat("\x02\x31\x07\xfe\x10", 40)))
	f.Add(uint16(1<<9), []byte(strings.Repeat("run of many spans", 20)))
	f.Fuzz(func(t *testing.T, settings uint16, choices []byte) {
		g := generator{choices: choices}
		requireInvariants(t, fuzzedConfig(settings), g.traces())
	})
}

// TestGeneratorReachesTheRules keeps FuzzStructured honest: what it builds must get to every source
// and every reason, or the invariants are held against nothing.
func TestGeneratorReachesTheRules(t *testing.T) {
	p, _ := newBare(t, config(nil))
	var sources [numSources]int
	var ignored [numIgnored]int
	var refused [numRefused]int
	var split bool
	for i := range 2000 {
		choices := make([]byte, 600)
		x := uint32(i)*2654435761 + 1
		for k := range choices {
			x ^= x << 13
			x ^= x >> 17
			x ^= x << 5
			choices[k] = byte(x >> 7)
		}
		g := generator{choices: choices}
		td := g.traces()
		number(td)
		before := td.ResourceSpans().Len()
		p.memory = newTraceMemory(100, time.Hour) // or soon every trace would name two runs
		q := newRequest(p)
		q.begin(t.Context())
		q.readAll(td)
		require.NoError(t, q.decideRest(td))
		q.arrangeAll(td.ResourceSpans())
		for k, n := range q.bySource {
			sources[k] += n
		}
		for k, n := range q.ignored {
			ignored[k] += n
		}
		for k, n := range q.refused {
			refused[k] += n
		}
		split = split || td.ResourceSpans().Len() > before
	}
	for s := sourceSpan; s < numSources; s++ {
		if s != sourceMetadata { // there are no headers
			require.Positive(t, sources[s], sourceNames[s])
		}
	}
	for why := ignoredBlank; why < numIgnored; why++ {
		require.Positive(t, ignored[why], ignoredNames[why])
	}
	require.Positive(t, refused[refusedTraceID])
	require.Positive(t, refused[refusedSpanID])
	require.True(t, split)
}

// seeds are the golden traces and some that are broken.
func seeds(tb testing.TB) []ptrace.Traces {
	tb.Helper()
	out := []ptrace.Traces{
		ptrace.NewTraces(),
		tracesOf(tb, resourceSpec{}),
		tracesOf(tb, resourceSpec{attrs{"run.id": ""}, []spanSpec{{}, {1, 1, attrs{"run.id": 7}}, {1, 2, nil}}}),
	}
	files, err := filepath.Glob("testdata/golden/*/*.jsonl")
	require.NoError(tb, err)
	for _, file := range files {
		lines, err := os.ReadFile(file)
		require.NoError(tb, err)
		for line := range strings.Lines(string(lines)) {
			var decoder ptrace.JSONUnmarshaler
			td, err := decoder.UnmarshalTraces([]byte(line))
			require.NoError(tb, err)
			out = append(out, td)
		}
	}
	return out
}

// fuzzedConfig switches things by the bits of settings; 0 is the default configuration.
func fuzzedConfig(settings uint16) *Config {
	bit := func(n int) bool { return settings>>n&1 == 1 }
	return config(func(c *Config) {
		c.Sources.Span.Enabled = !bit(0)
		c.Sources.Resource.Enabled = !bit(1)
		c.Sources.Aliases.Enabled = !bit(2)
		c.Sources.Trace.Enabled = !bit(3)
		if bit(4) {
			c.Sources.Trace.MaxTraces = 1
		}
		if bit(5) {
			c.Fallback.Action = FallbackDrop
		}
		if bit(6) {
			c.Fallback.Action = FallbackReject
		}
		if bit(7) {
			c.Fallback.ID = "b"
		}
		c.Tags.Source = !bit(8)
		switch {
		case bit(9):
			c.Tags.Spans = false
		case bit(10):
			c.Tags.Resources = false
		}
	})
}

// generator makes traces by a list of choices; when they are used up it chooses 0.
type generator struct {
	choices []byte
}

func (g *generator) pick(n int) int {
	if len(g.choices) == 0 {
		return 0
	}
	c := int(g.choices[0])
	g.choices = g.choices[1:]
	return c % n
}

func (g *generator) traces() ptrace.Traces {
	td := ptrace.NewTraces()
	for range g.pick(4) {
		rs := td.ResourceSpans().AppendEmpty()
		rs.SetSchemaUrl([]string{"", "https://schema"}[g.pick(2)])
		g.fill(rs.Resource().Attributes(), 5)
		for range g.pick(4) {
			scope := rs.ScopeSpans().AppendEmpty()
			scope.Scope().SetName([]string{"", "a", "b"}[g.pick(3)])
			for range g.pick(9) {
				s := scope.Spans().AppendEmpty()
				s.SetTraceID(repeated16(byte(g.pick(6))))
				s.SetSpanID(repeated8(byte(g.pick(9))))
				s.SetName([]string{"", "x"}[g.pick(2)])
				g.fill(s.Attributes(), 6)
				if g.pick(4) == 0 {
					g.fill(s.Events().AppendEmpty().Attributes(), 3)
				}
			}
		}
	}
	return td
}

// fill adds up to n attributes, some of them under a key that is there already.
func (g *generator) fill(m pcommon.Map, n int) {
	keys := []string{
		"run.id", "service.name", "run.id.source", "rl.run.id", "mlflow.run_id", "run_id", "ray.submission_id",
		"run.idx", "", "other",
	}
	var b xpdata.MapBuilder
	for range g.pick(n + 1) {
		g.value(b.AppendEmpty(keys[g.pick(len(keys))]))
	}
	b.UnsafeIntoMap(m)
}

func (g *generator) value(v pcommon.Value) {
	switch g.pick(16) {
	case 0, 1, 2:
		v.SetStr([]string{"a", "b", "c"}[g.pick(3)])
	case 3:
		v.SetStr("")
	case 4:
		v.SetStr("unassigned")
	case 5:
		v.SetStr("a\nb")
	case 6:
		v.SetStr(strings.Repeat("x", 255+g.pick(3)))
	case 7:
		v.SetStr("a\xff")
	case 8:
		v.SetInt(int64(g.pick(3)))
	case 9:
		v.SetDouble(float64(g.pick(3)) / 2)
	case 10:
		v.SetBool(g.pick(2) == 1)
	case 11:
		v.SetEmptyBytes().Append('b')
	case 12:
		v.SetEmptySlice().AppendEmpty().SetStr("s")
	case 13:
		v.SetEmptyMap().PutStr("k", "v")
	case 14:
		v.SetStr("fallback")
	}
}
