package producer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc/credentials"

	"github.com/runspan/runspan/internal/runid"
)

// exportWithin bounds an export with its retries.
const exportWithin = 10 * time.Second

// newProvider makes the provider whose spans go to e.
func newProvider(ctx context.Context, s *settings, e endpoint, log *slog.Logger) (*sdktrace.TracerProvider, error) {
	exporter, err := newExporter(ctx, s, e)
	if err != nil {
		return nil, err
	}
	res, err := s.resource(ctx)
	if err != nil {
		return nil, fmt.Errorf("producer: the resource of the spans: %w", err)
	}
	return sdktrace.NewTracerProvider(
		sdktrace.WithResource(res),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(s.SampleRatio))),
		sdktrace.WithBatcher(&reporter{SpanExporter: exporter, endpoint: e.traces(), log: log}),
	), nil
}

// newExporter does not connect.
func newExporter(ctx context.Context, s *settings, e endpoint) (sdktrace.SpanExporter, error) {
	var config *tls.Config
	if e.secure() {
		var err error
		if config, err = s.TLS.load(); err != nil {
			return nil, err
		}
	}
	// Everything is given, so that nothing of the environment is added.
	if e.protocol == ProtocolHTTP {
		options := []otlptracehttp.Option{
			otlptracehttp.WithEndpointURL(e.traces()), otlptracehttp.WithHeaders(s.Headers), otlptracehttp.WithTimeout(exportWithin),
		}
		if config != nil {
			options = append(options, otlptracehttp.WithTLSClientConfig(config))
		}
		return otlptrace.New(ctx, otlptracehttp.NewClient(options...))
	}
	options := []otlptracegrpc.Option{
		otlptracegrpc.WithEndpoint(e.url.Host), otlptracegrpc.WithHeaders(s.Headers), otlptracegrpc.WithTimeout(exportWithin),
	}
	if config != nil {
		options = append(options, otlptracegrpc.WithTLSCredentials(credentials.NewTLS(config)))
	} else {
		options = append(options, otlptracegrpc.WithInsecure())
	}
	return otlptrace.New(ctx, otlptracegrpc.NewClient(options...))
}

func (t TLS) load() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("producer: TLS.CAFile: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("producer: TLS.CAFile: %s holds no certificate in PEM", t.CAFile)
		}
	}
	if t.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("producer: TLS.CertFile, TLS.KeyFile: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

func (s *settings) resource(ctx context.Context) (*resource.Resource, error) {
	attributes := map[string]string{
		runid.AttributeServiceName: s.ServiceName,
		attributeServiceVersion:    s.ServiceVersion,
		attributeServiceInstance:   s.ServiceInstance,
		runid.AttributeRunID:       s.RunID,
	}
	var list []attribute.KeyValue
	for _, from := range []map[string]string{s.attributes, attributes} {
		for key, value := range from {
			if value != "" {
				list = append(list, attribute.String(key, value))
			}
		}
	}
	return resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(), resource.WithProcessPID(), resource.WithAttributes(list...))
}

// reporter tells a person what is not delivered, once until it is again, and nobody else: the SDK would
// print a line for every batch.
type reporter struct {
	sdktrace.SpanExporter
	endpoint string
	log      *slog.Logger

	mu   sync.Mutex
	lost int // since the last delivery
}

// ExportSpans implements sdktrace.SpanExporter.
func (r *reporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := r.SpanExporter.ExportSpans(ctx, spans)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil && r.lost > 0:
		r.log.Info("spans are delivered again", "endpoint", r.endpoint, "lost", r.lost)
		r.lost = 0
	case err != nil && r.lost == 0:
		r.log.Warn("spans are not delivered and are lost; the program goes on without them",
			"endpoint", r.endpoint, "error", err, "look", "runspan doctor --endpoint "+r.endpoint)
		fallthrough
	case err != nil:
		r.lost += len(spans)
	}
	return nil
}

// Shutdown implements sdktrace.SpanExporter.
func (r *reporter) Shutdown(ctx context.Context) error {
	r.mu.Lock()
	if r.lost > 0 {
		r.log.Warn("spans were lost", "endpoint", r.endpoint, "lost", r.lost)
	}
	r.mu.Unlock()
	return r.SpanExporter.Shutdown(ctx)
}
