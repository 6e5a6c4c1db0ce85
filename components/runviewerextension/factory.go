package runviewerextension

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"

	"github.com/runspan/runspan/components/runviewerextension/internal/metadata"
)

// NewFactory returns the factory of the run_viewer extension.
func NewFactory() extension.Factory {
	return extension.NewFactory(metadata.Type, createDefaultConfig, create, metadata.ExtensionStability)
}

func create(_ context.Context, set extension.Settings, cfg component.Config) (extension.Extension, error) {
	return &viewerExtension{set: set, config: cfg.(*Config)}, nil
}
