package runidprocessor

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor"

	"github.com/runspan/runspan/runidprocessor/internal/metadata"
	"github.com/runspan/runspan/runidprocessor/internal/metadatatest"
)

// attrs are attributes in a test. Values are what pcommon.Map.FromRaw takes.
type attrs = map[string]any

// spanSpec is a span in a test. Its trace and span ids are the bytes, repeated; 0: not set.
type spanSpec struct {
	trace, id byte
	attrs     attrs
}

// resourceSpec is a resource in a test, its spans in one scope.
type resourceSpec struct {
	attrs attrs
	spans []spanSpec
}

func tracesOf(t testing.TB, resources ...resourceSpec) ptrace.Traces {
	t.Helper()
	td := ptrace.NewTraces()
	for _, r := range resources {
		rs := td.ResourceSpans().AppendEmpty()
		require.NoError(t, rs.Resource().Attributes().FromRaw(r.attrs))
		scope := rs.ScopeSpans().AppendEmpty()
		for _, s := range r.spans {
			span := scope.Spans().AppendEmpty()
			span.SetName("span")
			span.SetTraceID(repeated16(s.trace))
			span.SetSpanID(repeated8(s.id))
			require.NoError(t, span.Attributes().FromRaw(s.attrs))
		}
	}
	return td
}

func repeated16(b byte) (id [16]byte) {
	for i := range id {
		id[i] = b
	}
	return id
}

func repeated8(b byte) (id [8]byte) {
	for i := range id {
		id[i] = b
	}
	return id
}

// config returns the default configuration with one change.
func config(change func(*Config)) *Config {
	cfg := createDefaultConfig().(*Config)
	if change != nil {
		change(cfg)
	}
	return cfg
}

// tested is a run_id processor in a test, what came out of it, and its metrics.
type tested struct {
	processor.Traces
	sink      *consumertest.TracesSink
	telemetry *componenttest.Telemetry
}

func newTested(t testing.TB, cfg *Config) *tested {
	t.Helper()
	require.NoError(t, cfg.Validate())
	p := &tested{sink: new(consumertest.TracesSink), telemetry: componenttest.NewTelemetry()}
	var err error
	p.Traces, err = NewFactory().CreateTraces(
		context.Background(), metadatatest.NewSettings(p.telemetry), cfg, p.sink)
	require.NoError(t, err)
	require.NoError(t, p.Start(context.Background(), componenttest.NewNopHost()))
	t.Cleanup(func() {
		require.NoError(t, p.Shutdown(context.Background()))
		require.NoError(t, p.telemetry.Shutdown(context.Background()))
	})
	return p
}

// process returns what comes out for td; nil if nothing was passed on.
func (p *tested) process(t testing.TB, ctx context.Context, td ptrace.Traces) *ptrace.Traces { //nolint:revive // t first, as everywhere in tests
	t.Helper()
	p.sink.Reset()
	require.NoError(t, p.ConsumeTraces(ctx, td))
	if len(p.sink.AllTraces()) == 0 {
		return nil
	}
	return &p.sink.AllTraces()[0]
}

func withMetadata(md map[string][]string) context.Context {
	return client.NewContext(context.Background(), client.Info{Metadata: client.NewMetadata(md)})
}

// newBare returns the processor without what the collector puts around it, with a clock that
// stands still until the test moves it.
func newBare(t testing.TB, cfg *Config) (*runIDProcessor, *time.Duration) {
	t.Helper()
	tel := componenttest.NewTelemetry()
	builder, err := metadata.NewTelemetryBuilder(tel.NewTelemetrySettings())
	require.NoError(t, err)
	t.Cleanup(func() {
		builder.Shutdown()
		require.NoError(t, tel.Shutdown(context.Background()))
	})
	p, err := newRunIDProcessor(cfg, builder)
	require.NoError(t, err)
	now := new(time.Duration)
	p.clock = func() time.Duration { return *now }
	return p, now
}
