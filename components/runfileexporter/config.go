package runfileexporter

import (
	"errors"
	"fmt"
	"slices"
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

	// minSegmentBytes keeps a typing error from making a file a line.
	minSegmentBytes = 4 << 10
)

// Config of the run_file exporter. Only path is required.
type Config struct {
	// Path of the file, absolute or relative to the collector's working folder. With {run.id} or
	// {service.name} in it there is a file for each of their values. No default.
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

	// MaxOpenFiles is how many files are open at once where path has placeholders; those that were
	// not written to for longest are closed first. Default: 256. Zero is not allowed.
	MaxOpenFiles int `mapstructure:"max_open_files"`

	// Rotation says when a file is closed as a segment. Default: never.
	Rotation Rotation `mapstructure:"rotation"`

	// Retention says what is deleted. Default: nothing.
	Retention Retention `mapstructure:"retention"`

	_ struct{} // prevent unkeyed literal initialization
}

// RetryWindow says which lines are remembered: the last ones, as long as they are young enough.
type RetryWindow struct {
	// Lines is how many are remembered, at about 130 bytes of memory each. Default: 100000. Zero
	// remembers none: each retry is written again.
	Lines int `mapstructure:"lines"`

	// Age is how long a line is remembered. Default: 10m. Zero is allowed only with no lines.
	Age time.Duration `mapstructure:"age"`

	_ struct{} // prevent unkeyed literal initialization
}

// Rotation closes the file: it is renamed to NAME-<UTC time>-<n>.jsonl, and a new one is begun.
type Rotation struct {
	// MaxBytes closes the file before a line that would make it longer, in bytes. Default: 0, never.
	MaxBytes int64 `mapstructure:"max_bytes"`

	// MaxAge closes the file this long after it was made. Default: 0, never.
	MaxAge time.Duration `mapstructure:"max_age"`

	_ struct{} // prevent unkeyed literal initialization
}

// Retention deletes closed segments, and where path has placeholders the files of idle runs. The live
// file of a run that is not idle, and every file of a pinned run, stays.
type Retention struct {
	// MaxAge deletes a file this long after its last span. Default: 0, never.
	MaxAge time.Duration `mapstructure:"max_age"`

	// MaxBytes deletes the oldest files while all of them together have more, in bytes. Default: 0,
	// never.
	MaxBytes int64 `mapstructure:"max_bytes"`

	// MinFree deletes the oldest files while less of the volume is free, in bytes. Default: 0, never.
	MinFree int64 `mapstructure:"min_free"`

	// RunIdle is the time without a span after which a run is idle. Default: 24h. Zero is not allowed.
	RunIdle time.Duration `mapstructure:"run_idle"`

	// Places are the folders of places of readers in other processes, so that what they had not read
	// of a deleted file is counted. Readers in this process are known. Default: none.
	Places []string `mapstructure:"places"`

	_ struct{} // prevent unkeyed literal initialization
}

func (r *Retention) enabled() bool { return r.MaxAge != 0 || r.MaxBytes != 0 || r.MinFree != 0 }

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
		MaxOpenFiles:    tracefile.DefaultMaxOpenFiles,
		Retention:       Retention{RunIdle: tracefile.DefaultRunIdle},
	}
}

// Validate reports every setting that cannot work, by its name.
func (c *Config) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	template, err := tracefile.ParsePathTemplate(c.Path)
	if err != nil {
		fail("path: %w", err)
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
	if c.MaxOpenFiles < 1 {
		fail("max_open_files: %d is too small: write at least 1", c.MaxOpenFiles)
	}
	c.Rotation.validate(fail)
	c.Retention.validate(fail)
	if err == nil && c.Retention.enabled() && c.Rotation == (Rotation{}) && !template.HasPlaceholders() {
		fail("retention: deletes closed segments only, and without rotation there are none: set rotation::max_bytes or rotation::max_age")
	}
	return errors.Join(errs...)
}

func (r *Rotation) validate(fail func(format string, args ...any)) {
	if r.MaxBytes < 0 || r.MaxBytes > 0 && r.MaxBytes < minSegmentBytes {
		fail("rotation::max_bytes: %d is too small: write at least %d, or 0 for never", r.MaxBytes, minSegmentBytes)
	}
	if r.MaxAge < 0 || r.MaxAge > 0 && r.MaxAge < time.Second {
		fail("rotation::max_age: %s is too short: write at least 1s (with its unit), or 0 for never", r.MaxAge)
	}
}

func (r *Retention) validate(fail func(format string, args ...any)) {
	if r.MaxAge < 0 || r.MaxAge > 0 && r.MaxAge < time.Second {
		fail("retention::max_age: %s is too short: write at least 1s (with its unit), or 0 for never", r.MaxAge)
	}
	if r.MaxBytes < 0 {
		fail("retention::max_bytes: %d is negative: write a number of bytes, or 0 for no limit", r.MaxBytes)
	}
	if r.MinFree < 0 {
		fail("retention::min_free: %d is negative: write a number of bytes, or 0 for none", r.MinFree)
	}
	if r.RunIdle < time.Second {
		fail("retention::run_idle: %s is too short: write at least 1s (with its unit), or leave it out for 24h", r.RunIdle)
	}
	if slices.Contains(r.Places, "") {
		fail("retention::places: has an empty name: name the folders of places, or leave it out")
	}
}
