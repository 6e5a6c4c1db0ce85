package runfilereceiver

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
)

func TestConfig(t *testing.T) {
	cm, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	for name, want := range map[string]string{
		"run_file":           "",
		"run_file/all":       "",
		"run_file/empty":     "include: is empty: name the files",
		"run_file/pattern":   "is no pattern",
		"run_file/start":     `start_at: "now": write "beginning" or "end"`,
		"run_file/places":    "places: is empty",
		"run_file/batch":     "max_batch_bytes: -1",
		"run_file/line":      "max_line_bytes: 1000 is less than max_batch_bytes (2097152)",
		"run_file/in_flight": "max_in_flight: 0",
		"run_file/poll":      "poll_interval: 0s",
		"run_file/match":     "from (2026-12-02 00:00:00 +0000 UTC) is not before to (2026-12-01 00:00:00 +0000 UTC)",
	} {
		t.Run(name, func(t *testing.T) {
			sub, err := cm.Sub(name)
			require.NoError(t, err)
			cfg := createDefaultConfig()
			require.NoError(t, sub.Unmarshal(cfg))
			err = confmap.Validate(cfg)
			if want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, want)
			}
			if name == "run_file/all" {
				c := cfg.(*Config)
				assert.Equal(t, "2026-12-01T09:00:00Z", c.Match.From.Format("2006-01-02T15:04:05Z07:00"))
				assert.Equal(t, "20261201", c.Match.Run)
			}
		})
	}
}
