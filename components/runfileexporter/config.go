package runfileexporter

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"

	"github.com/runspan/runspan/internal/tracefile"
)

const (
	lockOn  = "on"
	lockOff = "off"

	// minLineBytes leaves room for a resource, a scope and a small span; a smaller limit would
	// refuse all of them.
	minLineBytes = 4 << 10
)

// Config of the run_file exporter. Only path is required.
type Config struct {
	// Path of the file, absolute or relative to the collector's working folder. No default.
	Path string `mapstructure:"path"`

	// Durability says what an acknowledged span survives: "write", the death of the process, or
	// "sync", the death of the machine. Default: "write".
	Durability string `mapstructure:"durability"`

	// SyncInterval is the time between fsyncs in the background with durability write. Default:
	// 1s. Zero leaves it to the kernel, which takes about 30 s.
	SyncInterval time.Duration `mapstructure:"sync_interval"`

	// WriteTimeout is how long a request waits for the disk before it fails with a retryable
	// error. Default: 10s. Zero is not allowed.
	WriteTimeout time.Duration `mapstructure:"write_timeout"`

	// Lock keeps other collectors from the file: "on" or "off". Default: "on".
	Lock string `mapstructure:"lock"`

	// LockTimeout is how long the start waits for another writer to go away. Default: 30s. Zero
	// does not wait.
	LockTimeout time.Duration `mapstructure:"lock_timeout"`

	// MaxLineBytes is the longest line, in bytes with its newline. Longer requests are split
	// between spans. Default: 16777216 (16 MiB). Zero is not allowed.
	MaxLineBytes int `mapstructure:"max_line_bytes"`

	// CreateDirectory makes the folders of path where they are missing. Default: true.
	CreateDirectory bool `mapstructure:"create_directory"`

	// RetryWindow bounds what is remembered of written lines, so that a retry is written once.
	RetryWindow RetryWindow `mapstructure:"retry_window"`

	_ struct{} // prevent unkeyed literal initialization
}

// RetryWindow says which lines are remembered: the last ones, as long as they are young enough.
type RetryWindow struct {
	// Lines is how many are remembered, at about 100 bytes of memory each. Default: 100000. Zero
	// remembers none: each retry is written again.
	Lines int `mapstructure:"lines"`

	// Age is how long a line is remembered. Default: 10m. Zero is allowed only with no lines.
	Age time.Duration `mapstructure:"age"`

	_ struct{} // prevent unkeyed literal initialization
}

var _ component.Config = (*Config)(nil)

func createDefaultConfig() component.Config {
	return &Config{
		Durability:      string(tracefile.DurabilityWrite),
		SyncInterval:    time.Second,
		WriteTimeout:    10 * time.Second,
		Lock:            lockOn,
		LockTimeout:     30 * time.Second,
		MaxLineBytes:    16 << 20,
		CreateDirectory: true,
		RetryWindow:     RetryWindow{Lines: 100_000, Age: 10 * time.Minute},
	}
}

// Validate reports every setting that cannot work, by its name.
func (c *Config) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch {
	case c.Path == "":
		fail("path: is empty: name the file, for example ./data/traces.jsonl")
	case strings.HasSuffix(c.Path, "/"):
		fail("path: %q is a folder: name the file in it", c.Path)
	case strings.ContainsAny(c.Path, "{}"):
		fail("path: %q holds a placeholder: there are none yet, write the name of one file", c.Path)
	}
	switch tracefile.Durability(c.Durability) {
	case tracefile.DurabilityWrite, tracefile.DurabilitySync:
	default:
		fail("durability: %q is unknown: write %q or %q", c.Durability, tracefile.DurabilityWrite, tracefile.DurabilitySync)
	}
	if c.SyncInterval < 0 || c.SyncInterval > 0 && c.SyncInterval < 10*time.Millisecond {
		fail("sync_interval: %s is too short: write at least 10ms (with its unit), 0 for never, or durability: sync", c.SyncInterval)
	}
	if c.WriteTimeout < 100*time.Millisecond {
		fail("write_timeout: %s is too short: write at least 100ms (with its unit)", c.WriteTimeout)
	}
	if c.Lock != lockOn && c.Lock != lockOff {
		fail("lock: %q is unknown: write %q or %q", c.Lock, lockOn, lockOff)
	}
	if c.LockTimeout < 0 {
		fail("lock_timeout: %s is negative: write 0 to not wait", c.LockTimeout)
	}
	if c.MaxLineBytes < minLineBytes {
		fail("max_line_bytes: %d is too small: write at least %d", c.MaxLineBytes, minLineBytes)
	}
	if c.RetryWindow.Lines < 0 {
		fail("retry_window::lines: %d is negative: write 0 to remember none", c.RetryWindow.Lines)
	}
	if c.RetryWindow.Age < 0 || c.RetryWindow.Age == 0 && c.RetryWindow.Lines > 0 {
		fail("retry_window::age: %s remembers no line: write a time, or retry_window::lines: 0", c.RetryWindow.Age)
	}
	return errors.Join(errs...)
}
