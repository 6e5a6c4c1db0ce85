package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// Behind the run_file receiver "delivered" is what the last exporter says. A queue or a batch
// processor says it before the backend has: a kill then loses what the place has moved over.
func TestShippedConfigs_ReadSynchronously(t *testing.T) {
	type exporter struct {
		SendingQueue struct {
			Enabled *bool
		} `yaml:"sending_queue"`
		RetryOnFailure struct {
			Enabled        *bool
			MaxElapsedTime string `yaml:"max_elapsed_time"`
		} `yaml:"retry_on_failure"`
	}
	type config struct {
		Exporters map[string]exporter
		Service   struct {
			Pipelines map[string]struct{ Receivers, Processors, Exporters []string }
		}
	}
	files, err := filepath.Glob(filepath.Join(root, "configs", "*.yaml"))
	require.NoError(t, err)
	checked := 0
	readers := map[string]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var cfg config
		require.NoError(t, yaml.Unmarshal(data, &cfg))
		for name, p := range cfg.Service.Pipelines {
			if !strings.HasPrefix(strings.Join(p.Receivers, " "), "run_file") {
				continue
			}
			where := filepath.Base(file) + ": " + name
			assert.Len(t, p.Receivers, 1, where)
			assert.Len(t, p.Exporters, 1, "%s: one receiver for each backend", where)
			reader := filepath.Base(file) + " " + p.Receivers[0]
			assert.Empty(t, readers[reader], "%s is in two pipelines", reader)
			readers[reader] = where
			for _, processor := range p.Processors {
				kind, _, _ := strings.Cut(processor, "/")
				assert.NotContains(t, []string{"batch", "groupbytrace", "tail_sampling"}, kind, where)
			}
			for _, id := range p.Exporters {
				e := cfg.Exporters[id]
				if kind, _, _ := strings.Cut(id, "/"); kind == "debug" || kind == "nop" {
					continue
				}
				require.NotNil(t, e.SendingQueue.Enabled, "%s: %s has a queue by default", where, id)
				assert.False(t, *e.SendingQueue.Enabled, "%s: %s", where, id)
				// The default gives up after 5 minutes; the receiver would go on, but exporters log
				// and count that as lost.
				if e.RetryOnFailure.Enabled == nil || *e.RetryOnFailure.Enabled {
					assert.Equal(t, "0s", e.RetryOnFailure.MaxElapsedTime, "%s: %s", where, id)
				}
				checked++
			}
		}
	}
	assert.GreaterOrEqual(t, checked, 5, "the configs were not read")
}
