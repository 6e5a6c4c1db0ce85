package runidprocessor

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRules has a row for every rule about where the run of a span comes from. The span under test
// is the first of the first resource.
func TestRules(t *testing.T) {
	long := strings.Repeat("x", 257)
	one := func(resource, span attrs) []resourceSpec {
		return []resourceSpec{{attrs: resource, spans: []spanSpec{{1, 1, span}}}}
	}
	header := func(key, value string) map[string][]string { return map[string][]string{key: {value}} }

	for _, tc := range []struct {
		rule     string
		change   func(*Config)
		metadata map[string][]string
		in       []resourceSpec

		run    string
		source any // the value of run.id.source; nil: none
	}{
		// The order of the sources.
		{rule: "the span's run.id wins over everything", in: one(attrs{"run.id": "r", "rl.run.id": "x"}, attrs{"run.id": "s", "rl.run.id": "y"}), metadata: header("x-run-id", "m"), run: "s"},
		{rule: "then the resource's run.id", in: one(attrs{"run.id": "r", "rl.run.id": "x"}, attrs{"rl.run.id": "y"}), metadata: header("x-run-id", "m"), run: "r"},
		{rule: "then an alias on the span", in: one(attrs{"rl.run.id": "x"}, attrs{"rl.run.id": "y"}), metadata: header("x-run-id", "m"), run: "y", source: "alias"},
		{rule: "any alias on the span comes before any on the resource", in: one(attrs{"rl.run.id": "x"}, attrs{"ray.submission_id": "y"}), run: "y", source: "alias"},
		{rule: "then an alias on the resource", in: one(attrs{"rl.run.id": "x"}, nil), metadata: header("x-run-id", "m"), run: "x", source: "alias"},
		{rule: "aliases in the order of the list", in: one(nil, attrs{"cicd.pipeline.run.id": "9", "mlflow.sourceRun": "4", "wandb.run_id": "3"}), run: "3", source: "alias"},
		{rule: "run_id on the resource after the other aliases", in: one(attrs{"run_id": "g", "rl.run.id": "x"}, nil), run: "x", source: "alias"},
		{rule: "run_id on the resource", in: one(attrs{"run_id": "g"}, nil), metadata: header("x-run-id", "m"), run: "g", source: "alias"},
		{rule: "run_id on the span does not count", in: one(nil, attrs{"run_id": "g"}), run: "unassigned", source: "fallback"},
		{rule: "then the headers", in: one(nil, nil), metadata: header("x-run-id", "m"), run: "m", source: "metadata"},
		{rule: "the headers win over the trace", metadata: header("x-run-id", "m"), in: []resourceSpec{{spans: []spanSpec{{1, 1, nil}, {1, 2, attrs{"run.id": "t"}}}}}, run: "m", source: "metadata"},
		{rule: "then another span of the trace, also a later one", in: []resourceSpec{{spans: []spanSpec{{1, 1, nil}, {1, 2, attrs{"run.id": "t"}}}}}, run: "t", source: "trace"},
		{rule: "also one of another resource", in: []resourceSpec{{spans: []spanSpec{{1, 1, nil}}}, {attrs: attrs{"run.id": "t"}, spans: []spanSpec{{1, 2, nil}}}}, run: "t", source: "trace"},
		{rule: "also one whose run an alias named", in: []resourceSpec{{spans: []spanSpec{{1, 1, nil}, {1, 2, attrs{"rl.run.id": "t"}}}}}, run: "t", source: "trace"},
		{rule: "not a span of another trace", in: []resourceSpec{{spans: []spanSpec{{1, 1, nil}, {2, 2, attrs{"run.id": "t"}}}}}, run: "unassigned", source: "fallback"},
		{rule: "not where the trace names two runs", in: []resourceSpec{{spans: []spanSpec{{1, 1, nil}, {1, 2, attrs{"run.id": "t"}}, {1, 3, attrs{"run.id": "u"}}}}}, run: "unassigned", source: "fallback"},
		{rule: "a span that falls back names no run for its trace", in: []resourceSpec{{spans: []spanSpec{{1, 1, nil}, {1, 2, attrs{"run.id": "unassigned"}}}}}, run: "unassigned", source: "fallback"},
		{rule: "then the fallback", in: one(nil, nil), run: "unassigned", source: "fallback"},
		{rule: "the configured one", change: func(c *Config) { c.Fallback.ID = "lost" }, in: one(nil, nil), run: "lost", source: "fallback"},

		// Each source can be switched off.
		{rule: "span off", change: func(c *Config) { c.Sources.Span.Enabled = false }, in: one(attrs{"run.id": "r"}, attrs{"run.id": "s"}), run: "r"},
		{rule: "resource off", change: func(c *Config) { c.Sources.Resource.Enabled = false }, in: one(attrs{"run.id": "r", "rl.run.id": "x"}, nil), run: "x", source: "alias"},
		{rule: "aliases off", change: func(c *Config) { c.Sources.Aliases.Enabled = false }, in: one(attrs{"rl.run.id": "x", "run_id": "g"}, attrs{"rl.run.id": "x"}), run: "unassigned", source: "fallback"},
		{rule: "metadata off", change: func(c *Config) { c.Sources.Metadata.Enabled = false }, in: one(nil, nil), metadata: header("x-run-id", "m"), run: "unassigned", source: "fallback"},
		{rule: "baggage off", change: func(c *Config) { c.Sources.Metadata.BaggageKey = "" }, in: one(nil, nil), metadata: header("baggage", "run.id=b"), run: "unassigned", source: "fallback"},
		{rule: "trace off", change: func(c *Config) { c.Sources.Trace.Enabled = false }, in: []resourceSpec{{spans: []spanSpec{{1, 1, nil}, {1, 2, attrs{"run.id": "t"}}}}}, run: "unassigned", source: "fallback"},

		// Other aliases and headers.
		{rule: "other aliases", change: func(c *Config) { c.Sources.Aliases.Keys = []string{"my.run"} }, in: one(nil, attrs{"my.run": "y", "rl.run.id": "x"}), run: "y", source: "alias"},
		{rule: "an alias of more than 63 bytes", change: func(c *Config) { c.Sources.Aliases.Keys = []string{strings.Repeat("k", 80)} }, in: one(nil, attrs{strings.Repeat("k", 80): "y", strings.Repeat("k", 81): "z"}), run: "y", source: "alias"},
		{rule: "other aliases of the resource", change: func(c *Config) { c.Sources.Aliases.ResourceKeys = []string{"job"} }, in: one(attrs{"job": "j", "run_id": "g"}, nil), run: "j", source: "alias"},
		{rule: "other headers, in any case", change: func(c *Config) { c.Sources.Metadata.Keys = []string{"X-My-Run"} }, in: one(nil, nil), metadata: header("x-my-RUN", "m"), run: "m", source: "metadata"},
		{rule: "MLflow's header", in: one(nil, nil), metadata: header("x-mlflow-run-id", "m"), run: "m", source: "metadata"},
		{rule: "Weave's header", in: one(nil, nil), metadata: header("wb_run_id", "m"), run: "m", source: "metadata"},
		{rule: "baggage", in: one(nil, nil), metadata: header("baggage", "user=7, run.id = b%201 ;ttl=3,x"), run: "b 1", source: "metadata"},
		{rule: "headers before baggage", in: one(nil, nil), metadata: map[string][]string{"baggage": {"run.id=b"}, "wb_run_id": {"m"}}, run: "m", source: "metadata"},

		// What is no run id: the next source is asked.
		{rule: "an empty value", in: one(attrs{"run.id": "r"}, attrs{"run.id": ""}), run: "r"},
		{rule: "a blank value", in: one(attrs{"run.id": "r"}, attrs{"run.id": " \u3000"}), run: "r"},
		{rule: "no value", in: one(attrs{"run.id": "r"}, attrs{"run.id": nil}), run: "r"},
		{rule: "a value over 256 bytes", in: one(attrs{"run.id": "r"}, attrs{"run.id": long}), run: "r"},
		{rule: "a control character", in: one(attrs{"run.id": "r"}, attrs{"run.id": "a\nb"}), run: "r"},
		{rule: "invalid UTF-8", in: one(attrs{"run.id": "r"}, attrs{"run.id": "a\xff"}), run: "r"},
		{rule: "bytes", in: one(attrs{"run.id": "r"}, attrs{"run.id": []byte("b")}), run: "r"},
		{rule: "a list", in: one(attrs{"run.id": "r"}, attrs{"run.id": []any{"b"}}), run: "r"},
		{rule: "a map", in: one(attrs{"run.id": "r"}, attrs{"run.id": attrs{"b": "c"}}), run: "r"},
		{rule: "the default fallback id", in: one(attrs{"run.id": "r"}, attrs{"run.id": "unassigned"}), run: "r"},
		{rule: "the configured fallback id", change: func(c *Config) { c.Fallback.ID = "lost" }, in: one(attrs{"run.id": "r"}, attrs{"run.id": "lost"}), run: "r"},
		{rule: "on the resource: the alias is asked", in: one(attrs{"run.id": "", "rl.run.id": "x"}, nil), run: "x", source: "alias"},
		{rule: "in an alias: the next alias is asked", in: one(nil, attrs{"rl.run.id": " ", "mlflow.run_id": "y"}), run: "y", source: "alias"},
		{rule: "in a header: the next header is asked", in: one(nil, nil), metadata: map[string][]string{"x-run-id": {"", "a\tb"}, "wb_run_id": {"m"}}, run: "m", source: "metadata"},
		{rule: "in baggage: the next member is asked", in: one(nil, nil), metadata: map[string][]string{"baggage": {"run.id=,run.id=%00", "run.id=b"}}, run: "b", source: "metadata"},

		// Numbers and booleans become their text.
		{rule: "an integer", in: one(nil, attrs{"run.id": 42}), run: "42"},
		{rule: "a float", in: one(nil, attrs{"run.id": 1.5}), run: "1.5"},
		{rule: "a boolean", in: one(nil, attrs{"run.id": true}), run: "true"},
		{rule: "a number in an alias", in: one(attrs{"run_id": 7}, nil), run: "7", source: "alias"},
		{rule: "spaces and signs belong to it", in: one(nil, attrs{"run.id": " a/../ü "}), run: " a/../ü "},

		// run.id.source of a collector before this one.
		{rule: "what an earlier collector found stays said", in: one(attrs{"run.id": "r"}, attrs{"run.id": "r", "run.id.source": "trace"}), run: "r", source: "trace"},
		{rule: "also where it tags resources only", in: one(attrs{"run.id": "r"}, attrs{"run.id.source": "trace"}), run: "r", source: "trace"},
		{rule: "its fallback gives way", in: one(attrs{"run.id": "unassigned", "rl.run.id": "x"}, attrs{"run.id": "unassigned", "run.id.source": "fallback"}), run: "x", source: "alias"},
		{rule: "and is said no more where a run.id was set since", in: one(attrs{"run.id": "r"}, attrs{"run.id": "unassigned", "run.id.source": "fallback"}), run: "r"},
		{rule: "and stays where it is still so", in: one(attrs{"run.id": "unassigned"}, attrs{"run.id": "unassigned", "run.id.source": "fallback"}), run: "unassigned", source: "fallback"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			out := newTested(t, config(tc.change)).process(withMetadata(tc.metadata), t, tracesOf(t, tc.in...))
			require.NotNil(t, out)
			rs := out.ResourceSpans().At(0)
			got := rs.ScopeSpans().At(0).Spans().At(0).Attributes().AsRaw()
			assert.Equal(t, tc.run, got["run.id"], "the span")
			assert.Equal(t, tc.run, rs.Resource().Attributes().AsRaw()["run.id"], "the resource")
			assert.Equal(t, tc.source, got["run.id.source"], "run.id.source")
		})
	}
}

// TestService has a row for every rule about service.name.
func TestService(t *testing.T) {
	for _, tc := range []struct {
		rule                 string
		in, span             any
		resource, wantOnSpan string
	}{
		{"as it is", "rollout", nil, "rollout", "rollout"},
		{"missing", nil, nil, "unknown_service", "unknown_service"},
		{"empty", "", nil, "unknown_service", "unknown_service"},
		{"blank", " \t", nil, "unknown_service", "unknown_service"},
		{"a number", 7, nil, "7", "7"},
		{"a list", []any{"a", 1}, nil, `["a",1]`, `["a",1]`},
		{"another one on the span", "rollout", "vllm", "rollout", "rollout"},
		{"only on the span", nil, "vllm", "unknown_service", "unknown_service"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			resource, span := attrs{"run.id": "r"}, attrs{}
			if tc.in != nil {
				resource["service.name"] = tc.in
			}
			if tc.span != nil {
				span["service.name"] = tc.span
			}
			in := tracesOf(t, resourceSpec{resource, []spanSpec{{1, 1, span}}})
			out := newTested(t, config(nil)).process(context.Background(), t, in)
			require.NotNil(t, out)
			rs := out.ResourceSpans().At(0)
			assert.Equal(t, tc.resource, rs.Resource().Attributes().AsRaw()["service.name"])
			assert.Equal(t, tc.wantOnSpan, rs.ScopeSpans().At(0).Spans().At(0).Attributes().AsRaw()["service.name"])
		})
	}
}
