package producer

import (
	"context"
	"reflect"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"
)

// Tracer returns the tracer of a part of the program, by convention its import path. It can be kept in
// a package variable: the provider is looked up at each span, so that spans go to the one that is
// installed then, also when that was installed later or has replaced another.
func Tracer(name string, options ...trace.TracerOption) trace.Tracer {
	return &tracer{name: name, options: options}
}

type tracer struct {
	embedded.Tracer
	name    string
	options []trace.TracerOption
	last    atomic.Pointer[providersTracer]
}

// providersTracer is a tracer and the provider that made it.
type providersTracer struct {
	provider trace.TracerProvider
	tracer   trace.Tracer
	off      bool // no provider was ever installed
}

// installed reports whether somebody installed the provider: until then OpenTelemetry's own stands in,
// whose spans are nothing and cost three allocations. Should its package move, those are the price.
func installed(provider trace.TracerProvider) bool {
	t := reflect.TypeOf(provider)
	return t.Kind() != reflect.Pointer || t.Elem().PkgPath() != "go.opentelemetry.io/otel/internal/global"
}

// Start implements trace.Tracer.
func (t *tracer) Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	provider := otel.GetTracerProvider()
	last := t.last.Load()
	if last == nil || last.provider != provider {
		last = &providersTracer{provider, provider.Tracer(t.name, t.options...), !installed(provider)}
		// Only pointers are kept: comparing two values of another type may panic.
		if reflect.TypeOf(provider).Kind() == reflect.Pointer {
			t.last.Store(last)
		}
	}
	// A caller's trace would have to go through.
	if last.off && !trace.SpanContextFromContext(ctx).IsValid() {
		return ctx, noop.Span{}
	}
	return last.tracer.Start(ctx, name, options...)
}

// End ends a span. An error other than nil is put on it: the status, an exception event, and the
// attributes error.type and error.message. Use it with defer, in a function with a named error. It
// does nothing with a nil span.
//
//	ctx, span := tracer.Start(ctx, "generate")
//	defer func() { producer.End(span, err) }()
func End(span trace.Span, err error) {
	if span == nil { // tracing must not end the program of somebody who has none
		return
	}
	if err != nil && span.IsRecording() {
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
		span.SetAttributes(
			attribute.String("error.type", reflect.TypeOf(err).String()),
			attribute.String("error.message", err.Error()),
		)
	}
	span.End()
}

// Inject returns what a message must carry so that the trace of ctx goes on where it arrives: W3C
// traceparent, tracestate and baggage. It is nil when tracing is off.
func Inject(ctx context.Context) map[string]string {
	carrier := propagation.MapCarrier{}
	otel.GetTextMapPropagator().Inject(ctx, carrier)
	if len(carrier) == 0 {
		return nil
	}
	return carrier
}

// Extract returns a context that goes on with the trace that a message carried; ctx itself where it
// carried none or tracing is off.
func Extract(ctx context.Context, carrier map[string]string) context.Context {
	if len(carrier) == 0 {
		return ctx
	}
	return otel.GetTextMapPropagator().Extract(ctx, propagation.MapCarrier(carrier))
}
