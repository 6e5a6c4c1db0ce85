package runfileexporter

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"

	"github.com/runspan/runspan/components/runfileexporter/internal/metadata"
)

func TestConfig(t *testing.T) {
	defaults := func(change func(c *Config)) *Config {
		c := createDefaultConfig().(*Config)
		change(c)
		return c
	}
	cm, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	for name, want := range map[string]*Config{
		"shortest": defaults(func(c *Config) { c.Path = "./data/traces.jsonl" }),
		"all": {
			Path:         "/traces/traces.jsonl",
			Durability:   "sync",
			SyncInterval: 5 * time.Second,
			WriteTimeout: 20 * time.Second,
			Lock:         "off",
			LockTimeout:  2 * time.Minute,
			MaxLineBytes: 1 << 20,
			RetryWindow:  RetryWindow{Lines: 5000, Age: time.Minute},
		},
		"off": defaults(func(c *Config) {
			c.Path, c.SyncInterval, c.LockTimeout, c.RetryWindow = "traces.jsonl", 0, 0, RetryWindow{}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			sub, err := cm.Sub(component.NewIDWithName(metadata.Type, name).String())
			require.NoError(t, err)
			got := createDefaultConfig()
			require.NoError(t, sub.Unmarshal(&got))
			require.NoError(t, confmap.Validate(got))
			assert.Equal(t, want, got)
		})
	}
}

func TestConfigErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(c *Config)
		want   string
	}{
		"no path":           {func(c *Config) { c.Path = "" }, "path: is empty"},
		"a folder":          {func(c *Config) { c.Path = "data/" }, `path: "data/" is a folder`},
		"a placeholder":     {func(c *Config) { c.Path = "/t/{run.id}.jsonl" }, "placeholder"},
		"durability":        {func(c *Config) { c.Durability = "fsync" }, `durability: "fsync" is unknown: write "write" or "sync"`},
		"no unit":           {func(c *Config) { c.SyncInterval = 1 }, "sync_interval: 1ns is too short"},
		"negative interval": {func(c *Config) { c.SyncInterval = -time.Second }, "sync_interval: -1s"},
		"write timeout":     {func(c *Config) { c.WriteTimeout = 0 }, "write_timeout: 0s is too short"},
		"lock":              {func(c *Config) { c.Lock = "no" }, `lock: "no" is unknown`},
		"lock timeout":      {func(c *Config) { c.LockTimeout = -1 }, "lock_timeout: -1ns is negative"},
		"line bytes":        {func(c *Config) { c.MaxLineBytes = 0 }, "max_line_bytes: 0 is too small"},
		"retry lines":       {func(c *Config) { c.RetryWindow.Lines = -1 }, "retry_window::lines: -1 is negative"},
		"retry age":         {func(c *Config) { c.RetryWindow.Age = 0 }, "retry_window::age: 0s remembers no line"},
	} {
		t.Run(name, func(t *testing.T) {
			c := createDefaultConfig().(*Config)
			c.Path = "traces.jsonl"
			require.NoError(t, c.Validate())
			tc.change(c)
			require.ErrorContains(t, c.Validate(), tc.want)
		})
	}
	all := &Config{}
	for _, setting := range []string{"path", "durability", "write_timeout", "lock", "max_line_bytes"} {
		require.ErrorContains(t, all.Validate(), setting+":", "all at once")
	}
}
