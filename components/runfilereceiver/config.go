package runfilereceiver

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"go.opentelemetry.io/collector/component"
)

// Config of the run_file receiver.
type Config struct {
	// Include are the files to read, as patterns of Go's path/filepath.Match. The closed segments of
	// a file (NAME-<UTC time>-<n>.jsonl) are read without being named. Required.
	Include []string `mapstructure:"include"`

	// StartAt says where reading begins in a file that is there at the start and has no place:
	// "beginning" (default) or "end".
	StartAt string `mapstructure:"start_at"`

	// Places is the folder of the places, one small file for each file that is read. Receivers may
	// share it. It is created. Required.
	Places string `mapstructure:"places"`

	// MaxBatchBytes bounds the lines that are handed over at once, in bytes of JSON; a longer line
	// goes alone. Default: 2097152 (2 MiB).
	MaxBatchBytes int `mapstructure:"max_batch_bytes"`

	// MaxInFlight is how many batches may be on their way at once. With max_batch_bytes it bounds
	// the memory. Default: 8.
	MaxInFlight int `mapstructure:"max_in_flight"`

	// MaxLineBytes is the longest line that is read, in bytes; longer ones are stepped over and
	// counted. Default: 67108864 (64 MiB).
	MaxLineBytes int `mapstructure:"max_line_bytes"`

	// PollInterval is the time between two looks at the files. Default: 100ms.
	PollInterval time.Duration `mapstructure:"poll_interval"`

	// Match lets a part of the spans pass. Default: all.
	Match MatchConfig `mapstructure:"match"`

	_ struct{} // prevent unkeyed literal initialization
}

// MatchConfig says which spans pass. What is not set lets every span pass.
type MatchConfig struct {
	// Run is a run id; the others do not pass.
	Run string `mapstructure:"run"`

	// Service is a service.name; the others do not pass.
	Service string `mapstructure:"service"`

	// From is the earliest start of a span, for example 2026-12-01T09:00:00Z.
	From time.Time `mapstructure:"from"`

	// To is the time before which a span must have started.
	To time.Time `mapstructure:"to"`

	_ struct{} // prevent unkeyed literal initialization
}

var _ component.Config = (*Config)(nil)

const (
	startAtBeginning = "beginning"
	startAtEnd       = "end"
)

// Validate reports settings with which the receiver could not work, or not as one would expect.
func (c *Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(c.Include) == 0 {
		bad("include: is empty: name the files to read, for example [./data/traces.jsonl]")
	}
	for _, pattern := range c.Include {
		if _, err := filepath.Match(pattern, "x"); err != nil || pattern == "" {
			bad("include: %q is no pattern: write a path with *, ? or [a-z]", pattern)
		}
	}
	if c.StartAt != startAtBeginning && c.StartAt != startAtEnd {
		bad("start_at: %q: write %q or %q", c.StartAt, startAtBeginning, startAtEnd)
	}
	if c.Places == "" {
		bad("places: is empty: name a folder that outlives the process, for example ./data/places")
	}
	if c.MaxBatchBytes <= 0 {
		bad("max_batch_bytes: %d: write a number of bytes above 0, or leave the key out for 2 MiB", c.MaxBatchBytes)
	}
	if c.MaxLineBytes < c.MaxBatchBytes {
		bad("max_line_bytes: %d is less than max_batch_bytes (%d): raise it or lower the other", c.MaxLineBytes, c.MaxBatchBytes)
	}
	if c.MaxInFlight <= 0 {
		bad("max_in_flight: %d: write a number above 0, or leave the key out for 8", c.MaxInFlight)
	}
	if c.PollInterval <= 0 {
		bad("poll_interval: %s: write a time above 0, or leave the key out for 100ms", c.PollInterval)
	}
	if !c.Match.From.IsZero() && !c.Match.To.IsZero() && !c.Match.From.Before(c.Match.To) {
		bad("match: from (%s) is not before to (%s): exchange them", c.Match.From, c.Match.To)
	}
	return errors.Join(errs...)
}

func createDefaultConfig() component.Config {
	return &Config{
		StartAt:       startAtBeginning,
		MaxBatchBytes: 2 << 20,
		MaxInFlight:   8,
		MaxLineBytes:  64 << 20,
		PollInterval:  100 * time.Millisecond,
	}
}
