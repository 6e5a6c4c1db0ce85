package runidprocessor

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"

	"github.com/runspan/runspan/runidprocessor/internal/metadata"
)

func TestLoadConfig(t *testing.T) {
	cm, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)

	for _, tc := range []struct {
		name   string
		want   *Config
		errors []string // each stands in the error
	}{
		{name: "", want: config(nil)},
		{name: "everything", want: &Config{
			Sources: SourcesConfig{
				Aliases:  AliasesConfig{Keys: []string{"my.run", "rl.run.id"}, ResourceKeys: []string{}},
				Metadata: MetadataConfig{Keys: []string{"x-my-run"}},
				Trace:    TraceConfig{MaxTraces: 5000, MaxAge: 15 * time.Minute},
			},
			Fallback: FallbackConfig{Action: FallbackDrop, ID: "lost"},
			Tags:     TagsConfig{Resources: true, CopyToSpans: []string{"k8s.pod.name"}},
		}},
		{name: "one_source_off", want: config(func(c *Config) { c.Sources.Trace = TraceConfig{} })},
		{name: "max_traces_zero", errors: []string{"sources::trace::max_traces: 0 ", "use 1 to 100000000", "sources::trace::enabled to false"}},
		{name: "max_traces_huge", errors: []string{"sources::trace::max_traces: 100000001 ", "use 1 to 100000000"}},
		{name: "max_age_negative", errors: []string{"sources::trace::max_age: -1s ", "such as 1h"}},
		{name: "unknown_action", errors: []string{`fallback::action: "keep" `, "use assign, drop or reject"}},
		{name: "blank_id", errors: []string{`fallback::id: "  " is blank`, `leave the key out for "unassigned"`}},
		{name: "own_attribute_as_alias", errors: []string{`sources::aliases::keys: "run.id" `, "take it out"}},
		{name: "own_attribute_as_resource_alias", errors: []string{`sources::aliases::resource_keys: "service.name" `, "take it out"}},
		{name: "blank_alias", errors: []string{`sources::aliases::keys: entry 2, "",`, "give it a name"}},
		{name: "alias_twice", errors: []string{`sources::aliases::keys: "rl.run.id" `, "take one out"}},
		{name: "header_twice", errors: []string{`sources::metadata::keys: "x-run-id" `, "take one out"}},
		{name: "copies_own_attribute", errors: []string{`tags::copy_to_spans: "run.id.source" `, "take it out"}},
		{name: "tags_nothing", errors: []string{"tags::spans and tags::resources: both are false", "set one of them to true"}},
		{name: "two_errors", errors: []string{"sources::trace::max_traces: -1 ", `fallback::action: "" `}},
		{name: "unknown_key", errors: []string{"fallback_id"}},
	} {
		t.Run(component.NewIDWithName(metadata.Type, tc.name).String(), func(t *testing.T) {
			sub, err := cm.Sub(component.NewIDWithName(metadata.Type, tc.name).String())
			require.NoError(t, err)
			cfg := NewFactory().CreateDefaultConfig()
			err = sub.Unmarshal(cfg)
			if err == nil {
				err = confmap.Validate(cfg)
			}
			if tc.errors == nil {
				require.NoError(t, err)
				assert.Equal(t, tc.want, cfg)
				return
			}
			require.Error(t, err)
			for _, part := range tc.errors {
				assert.ErrorContains(t, err, part)
			}
		})
	}
}

func TestDefaultsAreTheContract(t *testing.T) {
	assert.Equal(t, &Config{
		Sources: SourcesConfig{
			Span:     SwitchConfig{Enabled: true},
			Resource: SwitchConfig{Enabled: true},
			Aliases: AliasesConfig{
				Enabled: true,
				Keys: []string{
					"rl.run.id", "wandb.wb_run_id", "wandb.run_id", "mlflow.sourceRun", "mlflow.run_id",
					"nemo.experiment.id", "langfuse.experiment.id", "ray.submission_id", "cicd.pipeline.run.id",
				},
				ResourceKeys: []string{"run_id"},
			},
			Metadata: MetadataConfig{
				Enabled: true, Keys: []string{"x-run-id", "x-mlflow-run-id", "wb_run_id"}, BaggageKey: "run.id",
			},
			Trace: TraceConfig{Enabled: true, MaxTraces: 100_000, MaxAge: time.Hour},
		},
		Fallback: FallbackConfig{Action: FallbackAssign, ID: "unassigned"},
		Tags:     TagsConfig{Spans: true, Resources: true, Source: true},
	}, NewFactory().CreateDefaultConfig())
}
