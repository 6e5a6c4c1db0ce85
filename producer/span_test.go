package producer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

var packageTracer = Tracer("package variable")

// recorded installs a provider for the time of a test and returns what it records.
func recorded(t *testing.T) *tracetest.SpanRecorder {
	t.Helper()
	recorder := tracetest.NewSpanRecorder()
	install(t, sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)))
	return recorder
}

func install(t *testing.T, provider trace.TracerProvider) {
	t.Helper()
	old := otel.GetTracerProvider()
	otel.SetTracerProvider(provider)
	if !installed(old) { // it cannot be installed again: it would hand on to the first that was
		old = noop.NewTracerProvider()
	}
	t.Cleanup(func() { otel.SetTracerProvider(old) })
}

// A tracer in a package variable: each span goes to the provider that is installed then.
func TestTracerIsLookedUpAtEachUse(t *testing.T) {
	ctx := t.Context()
	_, span := packageTracer.Start(ctx, "before any")
	assert.False(t, span.IsRecording())
	first := recorded(t)
	_, span = packageTracer.Start(ctx, "one")
	span.End()
	second := recorded(t)
	_, span = packageTracer.Start(ctx, "two")
	span.End()
	install(t, noop.NewTracerProvider()) // no pointer
	_, span = packageTracer.Start(ctx, "three")
	span.End()
	assert.False(t, span.IsRecording())

	require.Len(t, first.Ended(), 1)
	assert.Equal(t, "one", first.Ended()[0].Name())
	require.Len(t, second.Ended(), 1)
	assert.Equal(t, "two", second.Ended()[0].Name())
	assert.Equal(t, "package variable", second.Ended()[0].InstrumentationScope().Name)
}

func TestEnd(t *testing.T) {
	recorder := recorded(t)
	for _, err := range []error{nil, fmt.Errorf("read: %w", fs.ErrNotExist)} {
		_, span := packageTracer.Start(t.Context(), "work")
		End(span, err)
	}
	require.Len(t, recorder.Ended(), 2)
	good, bad := recorder.Ended()[0], recorder.Ended()[1]
	assert.Equal(t, codes.Unset, good.Status().Code)
	assert.Empty(t, good.Events())
	assert.Empty(t, good.Attributes())
	assert.Equal(t, sdktrace.Status{Code: codes.Error, Description: "read: file does not exist"}, bad.Status())
	require.Len(t, bad.Events(), 1)
	assert.Equal(t, "exception", bad.Events()[0].Name)
	assert.ElementsMatch(t, []attribute.KeyValue{
		attribute.String("error.type", "*fmt.wrapError"), attribute.String("error.message", "read: file does not exist"),
	}, bad.Attributes())
}

func TestEndWithoutTracing(*testing.T) {
	End(trace.SpanFromContext(context.Background()), errors.New("nobody sees it"))
}

func TestInjectAndExtract(t *testing.T) {
	old := otel.GetTextMapPropagator()
	t.Cleanup(func() { otel.SetTextMapPropagator(old) })
	recorded(t)
	ctx, span := packageTracer.Start(t.Context(), "caller")
	defer span.End()

	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator()) // as when nothing is installed
	assert.Nil(t, Inject(ctx))
	assert.Equal(t, t.Context(), Extract(t.Context(), map[string]string{"traceparent": "00-" + span.SpanContext().TraceID().String() + "-0123456789abcdef-01"}))

	otel.SetTextMapPropagator(propagation.TraceContext{})
	carrier := Inject(ctx)
	require.Contains(t, carrier, "traceparent")
	assert.Nil(t, Inject(t.Context()), "no span, nothing to carry")
	there := Extract(t.Context(), carrier)
	assert.Equal(t, span.SpanContext().SpanID(), trace.SpanContextFromContext(there).SpanID())
	assert.Equal(t, t.Context(), Extract(t.Context(), nil))
	assert.False(t, trace.SpanContextFromContext(Extract(t.Context(), map[string]string{"traceparent": "nonsense"})).IsValid())
}

// Off costs next to nothing: not one allocation. BenchmarkSpan has the time.
func TestOffDoesNotAllocate(t *testing.T) {
	// OpenTelemetry's stand-in cannot be had back in a process in which a test has installed another.
	if os.Getenv("RUNSPAN_TEST_FRESH") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestOffDoesNotAllocate$")
		cmd.Env = append(os.Environ(), "RUNSPAN_TEST_FRESH=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return
	}
	require.False(t, installed(otel.GetTracerProvider()))
	ctx := t.Context()
	off := Tracer("off")
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		_, span := off.Start(ctx, "work")
		End(span, nil)
	}))
	// A caller's trace goes through.
	caller := trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, Remote: true,
	}))
	_, span := off.Start(caller, "work")
	assert.Equal(t, trace.TraceID{1}, span.SpanContext().TraceID())
}

// A span where tracing is off, and what it costs where it is on and not sampled, beside it.
func BenchmarkSpan(b *testing.B) {
	if installed(otel.GetTracerProvider()) {
		b.Skip("off can be measured once in a process: go test -run - -bench Span -count 1")
	}
	span := func(b *testing.B, tracer trace.Tracer) {
		b.Helper()
		ctx := b.Context()
		b.ReportAllocs()
		for b.Loop() {
			_, span := tracer.Start(ctx, "work")
			End(span, nil)
		}
	}
	b.Run("off", func(b *testing.B) { span(b, Tracer("bench")) })
	b.Run("off-otel", func(b *testing.B) { span(b, otel.Tracer("bench")) })
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())))
	b.Run("not-sampled", func(b *testing.B) { span(b, Tracer("bench")) })
	otel.SetTracerProvider(sdktrace.NewTracerProvider())
	b.Run("on", func(b *testing.B) { span(b, Tracer("bench")) })
}

func TestEndWithoutASpan(t *testing.T) {
	assert.NotPanics(t, func() {
		End(nil, nil)
		End(nil, errors.New("failed"))
	})
}
