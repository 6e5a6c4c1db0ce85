package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
)

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// Each example of docs/backends.md is a file to lay over configs/local.yaml: together they are valid,
// and the reading pipeline ends in the exporter of the example.
func TestDocumentedBackendsAreValid(t *testing.T) {
	t.Setenv("VENDOR_TOKEN", "secret")
	doc, err := os.ReadFile(filepath.Join(root, "docs", "backends.md"))
	require.NoError(t, err)
	blocks := yamlBlock.FindAllSubmatch(doc, -1)
	require.Len(t, blocks, 5, "Jaeger, its port 14250, Tempo, a vendor and MLflow")
	for i, block := range blocks {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			overlay := filepath.Join(t.TempDir(), "overlay.yaml")
			require.NoError(t, os.WriteFile(overlay, block[1], 0o600))
			factories, err := components()
			require.NoError(t, err)
			cfg, err := load(t, factories, filepath.Join(root, "configs", "local.yaml"), overlay)
			require.NoError(t, err)
			require.NoError(t, confmap.Validate(cfg))
			found := false
			for id, p := range cfg.Service.Pipelines {
				if id.String() == "traces/out" {
					found = true
					require.Len(t, p.Receivers, 1)
					require.Len(t, p.Exporters, 1)
					assert.Equal(t, p.Receivers[0].Name(), p.Exporters[0].Name())
				}
			}
			assert.True(t, found, "no pipeline traces/out")
		})
	}
}

// The sidecar of docs/producers.md is a config as it stands.
func TestDocumentedSidecarIsValid(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(root, "docs", "producers.md"))
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)  ```yaml\n(.*?)  ```").FindSubmatch(doc)
	require.NotNil(t, block)
	config := filepath.Join(t.TempDir(), "sidecar.yaml")
	require.NoError(t, os.WriteFile(config, block[1], 0o600))
	factories, err := components()
	require.NoError(t, err)
	cfg, err := load(t, factories, config)
	require.NoError(t, err)
	require.NoError(t, confmap.Validate(cfg))
}
