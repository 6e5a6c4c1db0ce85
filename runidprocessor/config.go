package runidprocessor

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"

	"github.com/runspan/runspan/internal/runid"
)

// maxTracesLimit keeps the trace memory below 10 GB whatever the config says.
const maxTracesLimit = 100_000_000

// Config of the run_id processor. Every key is optional.
type Config struct {
	// Sources says where the run of a span is looked for. The order is fixed: it is the order of
	// the fields of SourcesConfig.
	Sources SourcesConfig `mapstructure:"sources"`

	// Fallback says what happens to a span for which no source names a run.
	Fallback FallbackConfig `mapstructure:"fallback"`

	// Tags says which attributes the processor writes.
	Tags TagsConfig `mapstructure:"tags"`

	_ struct{} // prevent unkeyed literal initialization
}

// SourcesConfig lists the sources of a run id in the order in which they are asked.
type SourcesConfig struct {
	// Span is the span's own `run.id`. Default: on.
	Span SwitchConfig `mapstructure:"span"`

	// Resource is the `run.id` of the span's resource. Default: on.
	Resource SwitchConfig `mapstructure:"resource"`

	// Aliases are attributes by which other tools name the run. Default: on.
	Aliases AliasesConfig `mapstructure:"aliases"`

	// Metadata is the headers of the request. Default: on.
	Metadata MetadataConfig `mapstructure:"metadata"`

	// Trace is the run that other spans of the same trace named. Default: on.
	Trace TraceConfig `mapstructure:"trace"`

	_ struct{}
}

// SwitchConfig switches a source that has no other settings.
type SwitchConfig struct {
	// Enabled switches the source. Default: true.
	Enabled bool `mapstructure:"enabled"`

	_ struct{}
}

// AliasesConfig configures the attributes by which other tools name the run.
type AliasesConfig struct {
	// Enabled switches the source. Default: true.
	Enabled bool `mapstructure:"enabled"`

	// Keys are looked for on the span, then on its resource; on each the first of the list that
	// holds a valid run id wins. Default: defaultAliases. Empty: no such attribute.
	Keys []string `mapstructure:"keys"`

	// ResourceKeys are looked for on the resource only, after Keys: names that are too general to
	// be trusted on a span. Default: ["run_id"]. Empty: no such attribute.
	ResourceKeys []string `mapstructure:"resource_keys"`

	_ struct{}
}

// MetadataConfig configures the headers that name the run of a whole request. They are seen only
// where the receiver has `include_metadata: true`, and only before a batch processor.
type MetadataConfig struct {
	// Enabled switches the source. Default: true.
	Enabled bool `mapstructure:"enabled"`

	// Keys are the headers, in order, in any case. Default: x-run-id, x-mlflow-run-id, wb_run_id.
	// Empty: no such header.
	Keys []string `mapstructure:"keys"`

	// BaggageKey is the member of the W3C `baggage` header that is asked after Keys. Default:
	// "run.id". Empty: baggage is not read.
	BaggageKey string `mapstructure:"baggage_key"`

	_ struct{}
}

// TraceConfig configures the inheritance of a run from other spans of the trace.
type TraceConfig struct {
	// Enabled switches the source. Default: true.
	Enabled bool `mapstructure:"enabled"`

	// MaxTraces is the number of traces whose run is remembered. Default: 100000. At most 100
	// bytes a trace, plus one copy of each run id. 0 is refused: use Enabled.
	MaxTraces int `mapstructure:"max_traces"`

	// MaxAge is how long a trace is remembered after a span last named its run. Default: 1h. 0 is
	// refused: use Enabled.
	MaxAge time.Duration `mapstructure:"max_age"`

	_ struct{}
}

// FallbackAction says what happens to a span for which no source names a run.
type FallbackAction string

const (
	// FallbackAssign gives the span the fallback id.
	FallbackAssign FallbackAction = "assign"

	// FallbackDrop does not pass the span on.
	FallbackDrop FallbackAction = "drop"

	// FallbackReject refuses the whole request: InvalidArgument over gRPC, 400 over HTTP.
	FallbackReject FallbackAction = "reject"
)

// FallbackConfig configures the end of the chain of sources.
type FallbackConfig struct {
	// Action is assign, drop or reject. Default: assign.
	Action FallbackAction `mapstructure:"action"`

	// ID is the run id that assign gives. Coming in it counts as no run id, whatever Action is.
	// Default: "unassigned".
	ID string `mapstructure:"id"`

	_ struct{}
}

// TagsConfig says which attributes the processor adds. Off means that nothing is added: a value
// that is there and is wrong (a blank `run.id`, a resource with spans of two runs) is still put
// right, so that a span never contradicts its resource.
type TagsConfig struct {
	// Spans adds `run.id` and the resource's `service.name` to every span. Default: true.
	Spans bool `mapstructure:"spans"`

	// Resources adds `run.id` to every resource, and `service.name: unknown_service` where there
	// is none. Default: true. Off: a resource with spans of two runs is still split.
	Resources bool `mapstructure:"resources"`

	// Source adds `run.id.source` to spans whose run was not found as `run.id` on the span or its
	// resource. Default: true.
	Source bool `mapstructure:"source"`

	// CopyToSpans lists further resource attributes to copy to every span of the resource. A span
	// that has the attribute keeps its own value. Default: none.
	CopyToSpans []string `mapstructure:"copy_to_spans"`

	_ struct{}
}

var _ component.Config = (*Config)(nil)

func createDefaultConfig() component.Config {
	return &Config{
		Sources: SourcesConfig{
			Span:     SwitchConfig{Enabled: true},
			Resource: SwitchConfig{Enabled: true},
			Aliases: AliasesConfig{
				Enabled:      true,
				Keys:         defaultAliases(),
				ResourceKeys: []string{"run_id"},
			},
			Metadata: MetadataConfig{
				Enabled:    true,
				Keys:       []string{"x-run-id", "x-mlflow-run-id", "wb_run_id"},
				BaggageKey: runid.AttributeRunID,
			},
			Trace: TraceConfig{Enabled: true, MaxTraces: 100_000, MaxAge: time.Hour},
		},
		Fallback: FallbackConfig{Action: FallbackAssign, ID: runid.Unassigned},
		Tags:     TagsConfig{Spans: true, Resources: true, Source: true},
	}
}

// defaultAliases are the attributes by which the tools that we know of name a run.
func defaultAliases() []string {
	return []string{
		"rl.run.id",
		"wandb.wb_run_id",
		"wandb.run_id",
		"mlflow.sourceRun",
		"mlflow.run_id",
		"nemo.experiment.id",
		"langfuse.experiment.id",
		"ray.submission_id",
		"cicd.pipeline.run.id",
	}
}

// Validate reports every setting that cannot work, each with its key, its value and the remedy.
func (c *Config) Validate() error {
	return errors.Join(
		checkAttributeKeys("sources::aliases::keys", c.Sources.Aliases.Keys),
		checkAttributeKeys("sources::aliases::resource_keys", c.Sources.Aliases.ResourceKeys),
		checkKeys("sources::metadata::keys", lowered(c.Sources.Metadata.Keys)),
		c.Sources.Trace.validate(),
		c.Fallback.validate(),
		checkAttributeKeys("tags::copy_to_spans", c.Tags.CopyToSpans),
		c.Tags.validate(),
	)
}

func (c *TraceConfig) validate() error {
	if !c.Enabled {
		return nil
	}
	var errs []error
	if c.MaxTraces < 1 || c.MaxTraces > maxTracesLimit {
		errs = append(errs, fmt.Errorf("sources::trace::max_traces: %d is out of range: use 1 to %d, "+
			"or set sources::trace::enabled to false", c.MaxTraces, maxTracesLimit))
	}
	if c.MaxAge <= 0 {
		errs = append(errs, fmt.Errorf("sources::trace::max_age: %s is not positive: use a duration such as 1h, "+
			"or set sources::trace::enabled to false", c.MaxAge))
	}
	return errors.Join(errs...)
}

func (c *FallbackConfig) validate() error {
	var errs []error
	switch c.Action {
	case FallbackAssign, FallbackDrop, FallbackReject:
	default:
		errs = append(errs, fmt.Errorf("fallback::action: %q is unknown: use %s, %s or %s",
			c.Action, FallbackAssign, FallbackDrop, FallbackReject))
	}
	if err := runid.Check(c.ID); err != nil {
		errs = append(errs, fmt.Errorf("fallback::id: %q %w: use a run id of 1 to %d bytes, or leave the key out for %q",
			c.ID, err, runid.MaxBytes, runid.Unassigned))
	}
	return errors.Join(errs...)
}

func (c *TagsConfig) validate() error {
	if !c.Spans && !c.Resources {
		return errors.New("tags::spans and tags::resources: both are false, so no reader could tell the runs apart: " +
			"set one of them to true, or leave both out")
	}
	return nil
}

// checkAttributeKeys reports keys that cannot name an attribute other than those of this project.
func checkAttributeKeys(setting string, keys []string) error {
	for _, key := range keys {
		switch key {
		case runid.AttributeRunID, runid.AttributeServiceName, runid.AttributeRunIDSource:
			return fmt.Errorf("%s: %q is an attribute that the processor itself writes: take it out of the list", setting, key)
		}
	}
	return checkKeys(setting, keys)
}

// checkKeys reports keys that are blank or stand in the list twice.
func checkKeys(setting string, keys []string) error {
	seen := make(map[string]bool, len(keys))
	for i, key := range keys {
		if strings.TrimSpace(key) == "" {
			return fmt.Errorf("%s: entry %d, %q, is blank: give it a name, or take it out of the list", setting, i+1, key)
		}
		if seen[key] {
			return fmt.Errorf("%s: %q stands in the list twice: take one out", setting, key)
		}
		seen[key] = true
	}
	return nil
}

// lowered returns keys in lower case: header names are equal in any case.
func lowered(keys []string) []string {
	out := make([]string, len(keys))
	for i, key := range keys {
		out[i] = strings.ToLower(key)
	}
	return out
}
