package main

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/otelcol"

	"github.com/runspan/runspan/components/addrprovider"
)

// Every shipped config is valid for the components that the distribution really has.
func TestShippedConfigsAreValid(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "configs", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			factories, err := components()
			require.NoError(t, err)
			cfg, err := load(t, factories, file)
			require.NoError(t, err)
			require.NoError(t, confmap.Validate(cfg))
		})
	}
}

// The check above has to fail for a key that no component knows.
func TestUnknownKeyIsRefused(t *testing.T) {
	factories, err := components()
	require.NoError(t, err)
	_, err = load(t, factories, filepath.Join("testdata", "unknown-key.yaml"))
	assert.ErrorContains(t, err, "fallback_run")
}

func load(t *testing.T, factories otelcol.Factories, files ...string) (*otelcol.Config, error) {
	t.Helper()
	provider, err := otelcol.NewConfigProvider(otelcol.ConfigProviderSettings{
		ResolverSettings: confmap.ResolverSettings{
			URIs: files,
			ProviderFactories: []confmap.ProviderFactory{
				fileprovider.NewFactory(), envprovider.NewFactory(), addrprovider.NewFactory(),
			},
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, provider.Shutdown(context.Background())) })
	return provider.Get(t.Context(), factories)
}
