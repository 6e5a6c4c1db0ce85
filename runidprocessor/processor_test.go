package runidprocessor

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/xpdata"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/runspan/runspan/runidprocessor/internal/metadatatest"
)

func TestMutatesData(t *testing.T) {
	assert.True(t, newTested(t, config(nil)).Capabilities().MutatesData)
}

func TestFallbackDrop(t *testing.T) {
	p := newTested(t, config(func(c *Config) { c.Fallback.Action = FallbackDrop }))
	out := p.process(context.Background(), t, tracesOf(t,
		resourceSpec{nil, []spanSpec{{1, 1, nil}, {2, 2, attrs{"run.id": "a"}}, {3, 3, nil}}},
		resourceSpec{nil, []spanSpec{{4, 4, nil}}},
		resourceSpec{nil, []spanSpec{{2, 5, nil}}}))
	require.NotNil(t, out)
	assert.Equal(t, [][]byte{{2}, {5}}, spanIDs(*out))

	assert.Nil(t, p.process(context.Background(), t, tracesOf(t, resourceSpec{nil, []spanSpec{{9, 9, nil}}})),
		"a request of which nothing is left must not be passed on")
	metadatatest.AssertEqualProcessorRunIDSpansRefused(t, p.telemetry,
		points("reason", map[string]int64{"no_run": 4}), metricdatatest.IgnoreTimestamp())
}

func TestFallbackReject(t *testing.T) {
	p := newTested(t, config(func(c *Config) { c.Fallback.Action = FallbackReject }))
	out := p.process(context.Background(), t, tracesOf(t,
		resourceSpec{nil, []spanSpec{{1, 1, nil}, {1, 2, attrs{"run.id": "a"}}}}))
	require.NotNil(t, out, "a span that inherits its run is no reason to refuse")

	p.sink.Reset()
	err := p.ConsumeTraces(context.Background(), tracesOf(t, resourceSpec{
		attrs{"service.name": "vllm"},
		[]spanSpec{{0, 1, nil}, {5, 2, attrs{"run.id": "a"}}, {6, 3, nil}, {7, 4, nil}},
	}))
	require.Error(t, err)
	assert.True(t, consumererror.IsPermanent(err), "the client must not send it again")
	s, ok := status.FromError(err)
	require.True(t, ok)
	assert.Equal(t, codes.InvalidArgument, s.Code(), "400 over HTTP")
	require.ErrorContains(t, err, `span "span" of service "vllm" names no run`)
	require.ErrorContains(t, err, "OTEL_RESOURCE_ATTRIBUTES")
	assert.Empty(t, p.sink.AllTraces(), "the whole request is refused")

	metadatatest.AssertEqualProcessorRunIDSpansRefused(t, p.telemetry,
		points("reason", map[string]int64{"request_rejected": 3, "no_trace_id": 1}), metricdatatest.IgnoreTimestamp())
	metadatatest.AssertEqualProcessorRunIDSpans(t, p.telemetry,
		points("source", map[string]int64{"span": 1, "trace": 1}), metricdatatest.IgnoreTimestamp())
}

func TestInvalidIDsAreNotPassedOn(t *testing.T) {
	p := newTested(t, config(nil))
	out := p.process(context.Background(), t, tracesOf(t,
		resourceSpec{attrs{"run.id": "r"}, []spanSpec{{0, 1, nil}, {1, 0, nil}, {1, 3, nil}, {0, 0, nil}}}))
	require.NotNil(t, out)
	assert.Equal(t, [][]byte{{3}}, spanIDs(*out))
	metadatatest.AssertEqualProcessorRunIDSpansRefused(t, p.telemetry,
		points("reason", map[string]int64{"no_trace_id": 2, "no_span_id": 1}), metricdatatest.IgnoreTimestamp())
}

func TestEmptyPartsAreNotPassedOn(t *testing.T) {
	p := newTested(t, config(nil))
	assert.Nil(t, p.process(context.Background(), t, ptrace.NewTraces()))
	assert.Nil(t, p.process(context.Background(), t, tracesOf(t, resourceSpec{attrs{"run.id": "r"}, nil})))

	in := tracesOf(t, resourceSpec{attrs{"run.id": "e"}, nil}, resourceSpec{attrs{"run.id": "r"}, []spanSpec{{1, 1, nil}}})
	in.ResourceSpans().AppendEmpty()
	in.ResourceSpans().At(1).ScopeSpans().AppendEmpty().Scope().SetName("without spans")
	out := p.process(context.Background(), t, in)
	require.NotNil(t, out)
	require.Equal(t, 1, out.ResourceSpans().Len())
	assert.Equal(t, 1, out.ResourceSpans().At(0).ScopeSpans().Len())
}

// TestSplit has spans of three runs in two scopes of a resource with everything a resource has.
func TestSplit(t *testing.T) {
	in := tracesOf(t, resourceSpec{
		attrs{"service.name": "s", "run.id": "r", "list": []any{"x"}},
		[]spanSpec{{1, 1, attrs{"run.id": "a"}}, {2, 2, attrs{"run.id": "b"}}, {3, 3, nil}, {1, 4, attrs{"run.id": "a"}}},
	})
	rs := in.ResourceSpans().At(0)
	rs.SetSchemaUrl("https://schema/resource")
	rs.Resource().SetDroppedAttributesCount(7)
	ref := entity.ResourceEntityRefs(rs.Resource()).AppendEmpty()
	ref.SetType("service")
	ref.IdKeys().Append("service.name")
	rs.ScopeSpans().At(0).SetSchemaUrl("https://schema/scope")
	rs.ScopeSpans().At(0).Scope().SetName("first")
	rs.ScopeSpans().At(0).Scope().Attributes().PutStr("k", "v")
	second := rs.ScopeSpans().AppendEmpty()
	second.Scope().SetName("second")
	for i, run := range []string{"b", "a"} {
		s := second.Spans().AppendEmpty()
		s.SetTraceID(repeated16(byte(5 + i)))
		s.SetSpanID(repeated8(byte(5 + i)))
		s.Attributes().PutStr("run.id", run)
	}

	out := newTested(t, config(nil)).process(context.Background(), t, in)
	require.NotNil(t, out)
	require.Equal(t, 3, out.ResourceSpans().Len())
	for i, want := range []struct {
		run    string
		scopes []string
	}{{"a", []string{"first", "second"}}, {"b", []string{"first", "second"}}, {"r", []string{"first"}}} {
		rs := out.ResourceSpans().At(i)
		assert.Equal(t, attrs{"service.name": "s", "run.id": want.run, "list": []any{"x"}}, rs.Resource().Attributes().AsRaw())
		assert.Equal(t, "https://schema/resource", rs.SchemaUrl())
		assert.Equal(t, uint32(7), rs.Resource().DroppedAttributesCount())
		refs := entity.ResourceEntityRefs(rs.Resource())
		require.Equal(t, 1, refs.Len(), "entity references belong to the resource")
		assert.Equal(t, "service", refs.At(0).Type())
		assert.Equal(t, []string{"service.name"}, refs.At(0).IdKeys().AsRaw())
		var scopes []string
		for _, scope := range rs.ScopeSpans().All() {
			scopes = append(scopes, scope.Scope().Name())
			if scope.Scope().Name() == "first" {
				assert.Equal(t, "https://schema/scope", scope.SchemaUrl())
				assert.Equal(t, attrs{"k": "v"}, scope.Scope().Attributes().AsRaw())
			}
		}
		assert.Equal(t, want.scopes, scopes)
	}
	assert.Equal(t, [][]byte{{1, 4, 6}, {2, 5}, {3}}, spanIDs(*out), "the order within a run is kept")
}

func TestTags(t *testing.T) {
	for _, tc := range []struct {
		name                   string
		tags                   TagsConfig
		resource, span         attrs // in
		wantResource, wantSpan attrs
	}{
		{
			"all, by default", config(nil).Tags,
			attrs{"rl.run.id": "r", "service.name": "s"},
			nil,
			attrs{"rl.run.id": "r", "service.name": "s", "run.id": "r"},
			attrs{"service.name": "s", "run.id": "r", "run.id.source": "alias"},
		},
		{
			"resources only",
			TagsConfig{Resources: true},
			attrs{"rl.run.id": "r"},
			attrs{"service.name": "own"},
			attrs{"rl.run.id": "r", "service.name": "unknown_service", "run.id": "r"},
			attrs{"service.name": "own"},
		},
		{
			"spans only",
			TagsConfig{Spans: true},
			attrs{"rl.run.id": "r"},
			nil,
			attrs{"rl.run.id": "r"},
			attrs{"service.name": "unknown_service", "run.id": "r"},
		},
		{
			"a span never contradicts its resource, tagged or not",
			TagsConfig{Resources: true},
			attrs{"run.id": "r"},
			attrs{"run.id": ""},
			attrs{"run.id": "r", "service.name": "unknown_service"},
			attrs{"run.id": "r"},
		},
		{
			"a resource never contradicts its spans, tagged or not",
			TagsConfig{Spans: true},
			attrs{"run.id": "r"},
			attrs{"run.id": 7},
			attrs{"run.id": "7"},
			attrs{"run.id": "7", "service.name": "unknown_service"},
		},
		{
			"a source that is there is put right, tagged or not",
			TagsConfig{Spans: true, Resources: true},
			attrs{"rl.run.id": "r"},
			attrs{"run.id": "unassigned", "run.id.source": "fallback"},
			attrs{"rl.run.id": "r", "run.id": "r", "service.name": "unknown_service"},
			attrs{"run.id": "r", "run.id.source": "alias", "service.name": "unknown_service"},
		},
		{
			"copies",
			TagsConfig{Spans: true, Resources: true, CopyToSpans: []string{"pod", "zone", "absent"}},
			attrs{"run.id": "r", "service.name": "s", "pod": []any{"p", 1}, "zone": "z"},
			attrs{"zone": "own"},
			attrs{"run.id": "r", "service.name": "s", "pod": []any{"p", int64(1)}, "zone": "z"},
			attrs{"run.id": "r", "service.name": "s", "pod": []any{"p", int64(1)}, "zone": "own"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newTested(t, config(func(c *Config) { c.Tags = tc.tags }))
			out := p.process(context.Background(), t, tracesOf(t, resourceSpec{tc.resource, []spanSpec{{1, 1, tc.span}}}))
			require.NotNil(t, out)
			rs := out.ResourceSpans().At(0)
			assert.Equal(t, tc.wantResource, rs.Resource().Attributes().AsRaw(), "the resource")
			assert.Equal(t, tc.wantSpan, rs.ScopeSpans().At(0).Spans().At(0).Attributes().AsRaw(), "the span")
		})
	}
}

// TestRepeatedKeys: OTLP forbids them, decoders let them pass, and readers differ in which they take.
func TestRepeatedKeys(t *testing.T) {
	in := tracesOf(t, resourceSpec{nil, []spanSpec{{1, 1, nil}}})
	rsIn := in.ResourceSpans().At(0)
	for _, m := range []pcommon.Map{rsIn.Resource().Attributes(), rsIn.ScopeSpans().At(0).Spans().At(0).Attributes()} {
		var repeated xpdata.MapBuilder
		for _, value := range []string{"a", "b"} {
			repeated.AppendEmpty("run.id").SetStr(value)
			repeated.AppendEmpty("service.name").SetStr(value)
			repeated.AppendEmpty("run.idx").SetStr(value)
		}
		repeated.UnsafeIntoMap(m)
	}
	out := newTested(t, config(nil)).process(context.Background(), t, in)
	require.NotNil(t, out)
	rs := out.ResourceSpans().At(0)
	for _, m := range []pcommon.Map{rs.Resource().Attributes(), rs.ScopeSpans().At(0).Spans().At(0).Attributes()} {
		count := map[string]int{}
		for key := range m.All() {
			count[key]++
		}
		assert.Equal(t, map[string]int{"run.id": 1, "service.name": 1, "run.idx": 2}, count)
		v, _ := m.Get("run.id")
		assert.Equal(t, "a", v.Str())
	}
}

func TestMetrics(t *testing.T) {
	p := newTested(t, config(nil))
	p.process(withMetadata(map[string][]string{"x-run-id": {""}}), t, tracesOf(t,
		resourceSpec{attrs{"run.id": "r"}, []spanSpec{{1, 1, nil}, {1, 2, attrs{"run.id": "\n"}}, {2, 3, attrs{"run.id": "s"}}}},
		resourceSpec{attrs{"run.id": []any{}}, []spanSpec{{1, 4, nil}, {3, 5, attrs{"rl.run.id": 7}}, {4, 6, attrs{"run.id": "unassigned"}}}},
	))
	p.process(withMetadata(map[string][]string{"x-run-id": {"m"}}), t, tracesOf(t,
		resourceSpec{nil, []spanSpec{{2, 7, nil}, {2, 8, nil}}}))

	ignoreTime := metricdatatest.IgnoreTimestamp()
	metadatatest.AssertEqualProcessorRunIDSpans(t, p.telemetry, points("source", map[string]int64{
		"span": 1, "resource": 2, "alias": 1, "trace": 1, "fallback": 1, "metadata": 2,
	}), ignoreTime)
	metadatatest.AssertEqualProcessorRunIDValuesIgnored(t, p.telemetry, points("reason", map[string]int64{
		"blank": 1, "control_character": 1, "wrong_type": 1, "fallback_id": 1,
	}), ignoreTime)
	metadatatest.AssertEqualProcessorRunIDTraceConflicts(t, p.telemetry, []metricdata.DataPoint[int64]{{Value: 1}}, ignoreTime)
	metadatatest.AssertEqualProcessorRunIDTracesRemembered(t, p.telemetry, []metricdata.DataPoint[int64]{{Value: 3}}, ignoreTime)
	metadatatest.AssertEqualProcessorRunIDTracesEvicted(t, p.telemetry, points("reason", map[string]int64{"age": 0, "size": 0}), ignoreTime)
}

func points(key string, values map[string]int64) []metricdata.DataPoint[int64] {
	out := make([]metricdata.DataPoint[int64], 0, len(values))
	for label, n := range values {
		out = append(out, metricdata.DataPoint[int64]{Attributes: attribute.NewSet(attribute.String(key, label)), Value: n})
	}
	return out
}

// spanIDs returns the first byte of the span ids, a list for each resource.
func spanIDs(td ptrace.Traces) [][]byte {
	var out [][]byte
	for _, rs := range td.ResourceSpans().All() {
		var ids []byte
		for _, scope := range rs.ScopeSpans().All() {
			for _, s := range scope.Spans().All() {
				ids = append(ids, s.SpanID()[0])
			}
		}
		out = append(out, ids)
	}
	return out
}
