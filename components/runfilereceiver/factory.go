package runfilereceiver

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"

	"github.com/runspan/runspan/components/runfilereceiver/internal/metadata"
)

// NewFactory returns the factory of the run_file receiver.
func NewFactory() receiver.Factory {
	return receiver.NewFactory(
		metadata.Type,
		createDefaultConfig,
		receiver.WithTraces(createTraces, metadata.TracesStability),
	)
}

func createTraces(
	_ context.Context, set receiver.Settings, cfg component.Config, next consumer.Traces,
) (receiver.Traces, error) {
	return newRunFileReceiver(cfg.(*Config), set, next, defaultTiming)
}
