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
			MaxOpenFiles: 64,
			Rotation:     Rotation{MaxBytes: 1 << 30, MaxAge: 24 * time.Hour},
			Retention: Retention{
				MaxAge: 720 * time.Hour, MaxBytes: 100 << 30, MinFree: 10 << 30, RunIdle: 48 * time.Hour,
				Places: []string{"/other/places"},
			},
		},
		"per_run": defaults(func(c *Config) { c.Path = "/traces/{service.name}/{run.id}.jsonl" }),
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
		"a placeholder":     {func(c *Config) { c.Path = "/t/{run}.jsonl" }, `path: "/t/{run}.jsonl": {run is no placeholder`},
		"no extension":      {func(c *Config) { c.Path = "/t/{run.id}" }, `path: "/t/{run.id}": must end like a file name`},
		"durability":        {func(c *Config) { c.Durability = "fsync" }, `durability: "fsync" is unknown: write "write" or "sync"`},
		"no unit":           {func(c *Config) { c.SyncInterval = 1 }, "sync_interval: 1ns is too short"},
		"negative interval": {func(c *Config) { c.SyncInterval = -time.Second }, "sync_interval: -1s"},
		"write timeout":     {func(c *Config) { c.WriteTimeout = 0 }, "write_timeout: 0s is too short"},
		"lock":              {func(c *Config) { c.Lock = "no" }, `lock: "no" is unknown`},
		"lock timeout":      {func(c *Config) { c.LockTimeout = -1 }, "lock_timeout: -1ns is negative"},
		"line bytes":        {func(c *Config) { c.MaxLineBytes = 0 }, "max_line_bytes: 0 is too small"},
		"retry lines":       {func(c *Config) { c.RetryWindow.Lines = -1 }, "retry_window::lines: -1 is negative"},
		"open files":        {func(c *Config) { c.MaxOpenFiles = 0 }, "max_open_files: 0 is too small"},
		"segment bytes":     {func(c *Config) { c.Rotation.MaxBytes = 100 }, "rotation::max_bytes: 100 is too small: write at least 4096"},
		"segment age":       {func(c *Config) { c.Rotation.MaxAge = 24 }, "rotation::max_age: 24ns is too short"},
		"age":               {func(c *Config) { c.Retention.MaxAge = 24 }, "retention::max_age: 24ns is too short"},
		"bytes":             {func(c *Config) { c.Retention.MaxBytes = -1 }, "retention::max_bytes: -1 is negative"},
		"free":              {func(c *Config) { c.Retention.MinFree = -1 }, "retention::min_free: -1 is negative"},
		"idle":              {func(c *Config) { c.Retention.RunIdle = 0 }, "retention::run_idle: 0s is too short"},
		"places":            {func(c *Config) { c.Retention.Places = []string{""} }, "retention::places: has an empty name"},
		"nothing to delete": {func(c *Config) { c.Retention.MinFree = 1 }, "retention: deletes closed segments only"},
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
