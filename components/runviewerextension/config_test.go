package runviewerextension

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
)

func TestDefaults(t *testing.T) {
	cfg := createDefaultConfig().(*Config)
	assert.Equal(t, "127.0.0.1:18318", cfg.ServerConfig.NetAddr.Endpoint)
	assert.Equal(t, int64(256<<20), cfg.MaxMemory)
	assert.Equal(t, 200_000, cfg.MaxTraceSpans)
	assert.Equal(t, 8, cfg.MaxConcurrent)
	assert.Equal(t, 20*time.Second, cfg.RequestTimeout)
	assert.ErrorContains(t, cfg.Validate(), "files: is empty")
}

func TestConfigs(t *testing.T) {
	conf, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	for name, want := range map[string]string{
		"":               "",
		"all":            "",
		"no_files":       "files: is empty",
		"empty_file":     "files: an entry is empty",
		"cors":           "cors: is not supported",
		"token_in_query": "auth::request_params: is not supported",
		"no_port":        `endpoint: "localhost"`,
		"hosts":          `allowed_hosts: "http://a.example"`,
		"memory":         "max_memory: 1000 is too small",
		"trace_spans":    "max_trace_spans: 0 is too small",
		"concurrent":     "max_concurrent: 0 is too small",
		"timeout":        "request_timeout: 20ns is too short",
		"jaeger":         "jaeger_url: ",
	} {
		t.Run(name, func(t *testing.T) {
			id := component.NewIDWithName(component.MustNewType("run_viewer"), name)
			sub, err := conf.Sub(id.String())
			require.NoError(t, err)
			cfg := createDefaultConfig()
			require.NoError(t, sub.Unmarshal(cfg))
			err = confmap.Validate(cfg)
			if want == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, want)
		})
	}
}
