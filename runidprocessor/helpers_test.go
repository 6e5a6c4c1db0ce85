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

func tracesOf(tb testing.TB, resources ...resourceSpec) ptrace.Traces {
	tb.Helper()
	td := ptrace.NewTraces()
	for _, r := range resources {
		rs := td.ResourceSpans().AppendEmpty()
		require.NoError(tb, rs.Resource().Attributes().FromRaw(r.attrs))
		scope := rs.ScopeSpans().AppendEmpty()
		for _, s := range r.spans {
			span := scope.Spans().AppendEmpty()
			span.SetName("span")
			span.SetTraceID(repeated16(s.trace))
			span.SetSpanID(repeated8(s.id))
			require.NoError(tb, span.Attributes().FromRaw(s.attrs))
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

func newTested(tb testing.TB, cfg *Config) *tested {
	tb.Helper()
	require.NoError(tb, cfg.Validate())
	p := &tested{sink: new(consumertest.TracesSink), telemetry: componenttest.NewTelemetry()}
	var err error
	p.Traces, err = NewFactory().CreateTraces(
		context.Background(), metadatatest.NewSettings(p.telemetry), cfg, p.sink)
	require.NoError(tb, err)
	require.NoError(tb, p.Start(context.Background(), componenttest.NewNopHost()))
	tb.Cleanup(func() {
		require.NoError(tb, p.Shutdown(context.Background()))
		require.NoError(tb, p.telemetry.Shutdown(context.Background()))
	})
	return p
}

// process returns what comes out for td; nil if nothing was passed on.
func (p *tested) process(ctx context.Context, tb testing.TB, td ptrace.Traces) *ptrace.Traces {
	tb.Helper()
	p.sink.Reset()
	require.NoError(tb, p.ConsumeTraces(ctx, td))
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
func newBare(tb testing.TB, cfg *Config) (*runIDProcessor, *time.Duration) {
	tb.Helper()
	tel := componenttest.NewTelemetry()
	builder, err := metadata.NewTelemetryBuilder(tel.NewTelemetrySettings())
	require.NoError(tb, err)
	tb.Cleanup(func() {
		builder.Shutdown()
		require.NoError(tb, tel.Shutdown(context.Background()))
	})
	p, err := newRunIDProcessor(cfg, builder)
	require.NoError(tb, err)
	now := new(time.Duration)
	p.clock = func() time.Duration { return *now }
	return p, now
}
