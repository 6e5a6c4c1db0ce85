package jaegerexporter

import (
	"context"
	"fmt"
	"runtime"

	"github.com/jaegertracing/jaeger-idl/proto-gen/api_v2"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configgrpc"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/grpc"
)

type jaegerExporter struct {
	config    *Config
	settings  component.TelemetrySettings
	userAgent string

	conn   *grpc.ClientConn // from start to shutdown
	client api_v2.CollectorServiceClient
}

func newJaegerExporter(set exporter.Settings, config *Config) *jaegerExporter {
	return &jaegerExporter{
		config:   config,
		settings: set.TelemetrySettings,
		userAgent: fmt.Sprintf("%s/%s (%s/%s)",
			set.BuildInfo.Description, set.BuildInfo.Version, runtime.GOOS, runtime.GOARCH),
	}
}

// start opens the connection in the background: a server that is down is no reason not to start.
func (e *jaegerExporter) start(ctx context.Context, host component.Host) error {
	conn, err := e.config.ClientConfig.ToClientConn(ctx, host.GetExtensions(), e.settings,
		configgrpc.WithGrpcDialOption(grpc.WithUserAgent(e.userAgent)))
	if err != nil {
		return err
	}
	e.conn, e.client = conn, api_v2.NewCollectorServiceClient(conn)
	return nil
}

func (e *jaegerExporter) shutdown(context.Context) error {
	if e.conn == nil {
		return nil // never started
	}
	return e.conn.Close()
}

// consumeTraces sends td message by message. Its error holds the spans that were not taken, so that
// a retry sends no others; it is permanent when the server will take none of them.
func (e *jaegerExporter) consumeTraces(ctx context.Context, td ptrace.Traces) error {
	all := messages(td, e.config.MaxMessageBytes)
	var left []message
	var refusal error // the first
	for i, m := range all {
		err := e.post(ctx, m)
		switch read(err) {
		case taken:
		case refused:
			left = append(left, m)
			if refusal == nil {
				refusal = err
			}
		case turnedAway:
			return e.permanent(err, td, append(left, all[i:]...))
		case later:
			// The messages after it would wait for the same, and go with its retry.
			return consumererror.NewTraces(err, rest(td, append(left, all[i:]...)))
		}
	}
	if refusal != nil {
		return e.permanent(refusal, td, left)
	}
	return nil
}

func (e *jaegerExporter) post(ctx context.Context, m message) error {
	if m.tooLarge != nil {
		return m.tooLarge
	}
	_, err := e.client.PostSpans(ctx, m.request)
	return err
}

// permanent returns the error for spans that the server will never take. They are in it: whoever
// looks for the one that is refused, as the run_file receiver does, need not send the others again.
func (e *jaegerExporter) permanent(err error, td ptrace.Traces, left []message) error {
	unsent := rest(td, left)
	err = fmt.Errorf("%d of %d spans are refused: %w", unsent.SpanCount(), td.SpanCount(), e.config.explain(err))
	return consumererror.NewPermanent(consumererror.NewTraces(err, unsent))
}

// rest returns the spans of td that are in one of the messages. td is not changed: other exporters
// of the pipeline may have it too.
func rest(td ptrace.Traces, left []message) ptrace.Traces {
	keep := make([]bool, td.SpanCount())
	kept := 0
	for _, m := range left {
		for i := m.from; i < m.to; i++ {
			keep[i] = true
			kept++
		}
	}
	if kept == len(keep) {
		return td
	}
	part := ptrace.NewTraces()
	td.CopyTo(part)
	next := 0
	part.ResourceSpans().RemoveIf(func(rs ptrace.ResourceSpans) bool {
		rs.ScopeSpans().RemoveIf(func(ss ptrace.ScopeSpans) bool {
			ss.Spans().RemoveIf(func(ptrace.Span) bool {
				next++
				return !keep[next-1]
			})
			return ss.Spans().Len() == 0
		})
		return rs.ScopeSpans().Len() == 0
	})
	return part
}
