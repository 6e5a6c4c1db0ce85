package cli

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/pflag"

	"github.com/runspan/runspan/producer"
)

// producerFlags are the settings of producer.Config that a command line has.
type producerFlags struct{ producer.Config }

// addTo adds the flags that say where spans go and whose they are.
func (p *producerFlags) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&p.ServiceName, "service-name", "", "the service.name of the processes (default: OTEL_SERVICE_NAME, or unknown_service)")
	flags.StringVar(&p.RunID, "run-id", "", "the run.id (default: that of OTEL_RESOURCE_ATTRIBUTES, or a new one)")
	flags.StringVar(&p.Endpoint, "endpoint", "", "the URL of a collector (default: OTEL_EXPORTER_OTLP_ENDPOINT)")
	flags.StringVar((*string)(&p.Protocol), "protocol", "", "grpc or http/protobuf (default: by the endpoint, or grpc)")
	flags.StringToStringVar(&p.Headers, "header", nil, "a header of each request, NAME=VALUE (default: OTEL_EXPORTER_OTLP_HEADERS)")
	flags.Float64Var(&p.SampleRatio, "sample-ratio", 0, "the part of the traces that is sent, up to 1 (default: OTEL_TRACES_SAMPLER_ARG, or 1)")
}

// flagNames turns the names of producer.Config into those of the flags.
var flagNames = strings.NewReplacer(
	"producer: ", "", "Viewer.Enabled", "--view", "Viewer.Port", "--view-port", "Viewer.Host", "--view-host",
	"Viewer.JaegerQueryURL", "--jaeger-query-url", "TraceJSONL", "--trace-jsonl",
	"Endpoint", "--endpoint", "RunID", "--run-id", "Protocol", "--protocol", "SampleRatio", "--sample-ratio",
	"Local.OutputDir", "--output-dir", "Local.Host", "--host", "Local.GRPCPort", "--grpc-port", "Local.HTTPPort", "--http-port",
	"Local.Binary", "--collector", "Headers", "--header", "LocalCollector", "the local collector",
)

// flagError is an error of the producer in the words of the command line.
type flagError struct{ error }

func (e flagError) Error() string { return flagNames.Replace(e.error.Error()) }
func (e flagError) Unwrap() error { return e.error }

// personLog is a log for whoever started the command: plain lines, warnings and errors only.
type personLog struct {
	slog.Handler
	say func(error)
}

func newPersonLog(say func(error)) *slog.Logger {
	return slog.New(personLog{Handler: slog.DiscardHandler, say: say})
}

// Enabled implements slog.Handler.
func (personLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// Handle implements slog.Handler.
func (l personLog) Handle(_ context.Context, record slog.Record) error {
	text := record.Message
	record.Attrs(func(a slog.Attr) bool {
		if value := a.Value.String(); value != "" && a.Key != "run.id" {
			text += ": " + value
		}
		return true
	})
	l.say(fmt.Errorf("warning: %s", flagNames.Replace(text)))
	return nil
}
