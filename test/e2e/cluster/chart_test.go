//go:build linux

package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/runspan/runspan/test/e2e/harness"
)

// TestLint is helm's own check of the chart, by itself and with each example.
func TestLint(t *testing.T) {
	args := []string{"lint", "--strict", chartDir(t)}
	out, complaint, err := helm(t, args...)
	require.NoError(t, err, out+complaint)
	for _, example := range cases(t) {
		out, complaint, err := helm(t, append(args, "--values", valuesOf(t, example))...)
		assert.NoError(t, err, example+out+complaint)
	}
}

// TestRenderings compares what the examples render to with what is committed beside them.
func TestRenderings(t *testing.T) {
	for _, example := range cases(t) {
		t.Run(example, func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join(chartDir(t), "examples", example, "rendered.yaml"))
			require.NoError(t, err, "run `make chart`")
			require.Equal(t, string(want), string(renderExample(t, example)), "run `make chart`, look at the difference and commit it")
		})
	}
}

// TestVersions compares the chart's versions with the distribution's.
func TestVersions(t *testing.T) {
	var chart struct {
		Version    string
		AppVersion string `yaml:"appVersion"`
	}
	data, err := os.ReadFile(filepath.Join(chartDir(t), "Chart.yaml"))
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(data, &chart))
	var manifest struct{ Dist struct{ Version string } }
	data, err = os.ReadFile(filepath.Join(harness.Root(t), "builder-config.yaml"))
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(data, &manifest))
	require.Equal(t, manifest.Dist.Version, chart.Version)
	require.Equal(t, manifest.Dist.Version, chart.AppVersion)
}

// configsOf returns the collector configurations of a rendering by the name of their ConfigMap.
func configsOf(t *testing.T, all objects) map[string]string {
	t.Helper()
	configs := map[string]string{}
	for _, o := range all {
		if o.Kind == "ConfigMap" && !strings.HasSuffix(o.Metadata.Name, "-jaeger") {
			require.Contains(t, o.Data, "config.yaml", o.Metadata.Name)
			configs[o.Metadata.Name] = o.Data["config.yaml"]
		}
	}
	require.NotEmpty(t, configs)
	return configs
}

// validate runs the binary's own check of a configuration.
func validate(t *testing.T, config string) (string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(path, []byte(config), 0o600))
	cmd := exec.CommandContext(t.Context(), harness.Binary(t), "validate", "--config", path)
	cmd.Env = append(os.Environ(), "BACKEND_TOKEN=token")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestConfigs lets the binary validate every configuration of every example.
func TestConfigs(t *testing.T) {
	for _, example := range cases(t) {
		for name, config := range configsOf(t, parseObjects(t, renderExample(t, example))) {
			out, err := validate(t, config)
			assert.NoErrorf(t, err, "%s: %s: %s", example, name, out)
		}
	}
}

// TestConfigs_OfOtherValues does the same for values that no example has.
func TestConfigs_OfOtherValues(t *testing.T) {
	for _, values := range []string{
		"{traces: {layout: both, lock: false}, jaeger: {enabled: true}}",
		"{traces: {layout: both}, backends: fanout, jaeger: {enabled: true}}",
		"{traces: {layout: perRun, rotation: {maxBytes: \"\"}, retention: {minFree: \"0\"}}, viewer: {enabled: false}}",
		"{traces: {rotation: {maxAge: 24h}, retention: {maxAge: 720h, maxBytes: 40Gi}}}",
		"{tls: {existingSecret: certificate, clientCA: true}, tests: {clientSecret: client}}",
		"{auth: {existingSecret: tokens}, tls: {existingSecret: certificate}, sidecar: {enabled: true}}",
		"{jaeger: {enabled: true, endpoint: jaeger:4317, insecure: false}, collector: {resources: {limits: null}}}",
	} {
		for name, config := range configsOf(t, parseObjects(t, render(t, values))) {
			out, err := validate(t, config)
			assert.NoErrorf(t, err, "%s: %s: %s", values, name, out)
		}
	}
}

// TestMerge checks what `config` does to the default: maps are joined, lists replaced, null removes.
func TestMerge(t *testing.T) {
	all := parseObjects(t, render(t, `
config:
  receivers:
    otlp:
      protocols:
        http: null
        grpc: {max_recv_msg_size_mib: 16, include_metadata: false}
  processors:
    batch: {}
  service:
    pipelines:
      traces/in:
        processors: [run_id]
`))
	var config struct {
		Receivers struct {
			OTLP struct {
				Protocols map[string]map[string]any
			}
		}
		Processors map[string]any
		Service    struct {
			Pipelines map[string]struct{ Receivers, Processors, Exporters []string }
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(configsOf(t, all)[release]), &config))
	require.NotContains(t, config.Receivers.OTLP.Protocols, "http")
	grpc := config.Receivers.OTLP.Protocols["grpc"]
	require.Equal(t, 16, grpc["max_recv_msg_size_mib"])
	require.Equal(t, false, grpc["include_metadata"])
	require.Equal(t, "0.0.0.0:4317", grpc["endpoint"])
	require.Contains(t, config.Processors, "batch")
	require.Contains(t, config.Processors, "memory_limiter")
	in := config.Service.Pipelines["traces/in"]
	require.Equal(t, []string{"run_id"}, in.Processors)
	require.Equal(t, []string{"run_file"}, in.Exporters)
	out, err := validate(t, configsOf(t, all)[release])
	require.NoError(t, err, out)
}

// TestMemory checks what is made of the memory limits, and of none.
func TestMemory(t *testing.T) {
	all := parseObjects(t, render(t, "collector: {resources: {limits: {memory: 1G}}}"))
	pod := all.get(t, "StatefulSet", release).pod()
	require.Equal(t, "762MiB", pod.container(t, "collector").Env[0].Value) // 80 % of 1e9 bytes
	require.Contains(t, configsOf(t, all)[release], "limit_mib: 667")

	all = parseObjects(t, render(t, "collector: {resources: {limits: {memory: null}}}"))
	pod = all.get(t, "StatefulSet", release).pod()
	require.Empty(t, pod.container(t, "collector").Env)
	require.Contains(t, configsOf(t, all)[release], "limit_percentage: 70")
}

// TestChecksum checks that a change of the configuration rolls the pod, and nothing else does.
func TestChecksum(t *testing.T) {
	sum := func(values string) string {
		all := parseObjects(t, render(t, values))
		return all.get(t, "StatefulSet", release).Spec.Template.Metadata.Annotations["checksum/config"]
	}
	first := sum("{}")
	require.NotEmpty(t, first)
	require.Equal(t, first, sum("service: {annotations: {a: b}}"))
	require.NotEqual(t, first, sum("traces: {durability: sync}"))
	require.NotEqual(t, first, sum("config: {processors: {batch: {}}}"))
}

// TestRefusals checks that what is misspelt or makes no sense is refused, with the setting's name.
func TestRefusals(t *testing.T) {
	for values, said := range map[string]string{
		"tracez: {}":                                                       "tracez",
		"traces: {retension: {}}":                                          "retension",
		"traces: {durability: fsync}":                                      "durability",
		"traces: {persistence: {size: 50 GB}}":                             "size",
		"traces: {mountPath: traces}":                                      "mountPath",
		"traces: {folder: ../other}":                                       "folder",
		"traces: {layout: per-run}":                                        "layout",
		"traces: {retention: {maxAge: 30d}}":                               "maxAge",
		"config: {exporter: {}}":                                           "exporter",
		"jaeger: {enabled: yes please}":                                    "enabled",
		"jaeger: {endpoint: http://jaeger:4317}":                           "endpoint",
		"collector: {resources: {limit: {}}}":                              "limit",
		"image: {digest: latest}":                                          "digest",
		"service: {name: Otel_Collector}":                                  "name",
		"backends: fanout":                                                 "jaeger.enabled",
		"ingress: {enabled: true}":                                         "ingress.host",
		"ingress: {enabled: true, host: a.b}":                              "ingress.auth.type",
		"tls: {clientCA: true}":                                            "tls.existingSecret",
		"traces: {persistence: {size: 8Gi}}":                               "traces.retention.minFree",
		"traces: {rotation: {maxBytes: \"\"}}":                             "traces.rotation.maxBytes",
		"{ingress: {enabled: true, host: a.b, auth: {type: basic}}}":       "ingress.auth.basicSecret",
		"{ingress: {enabled: true, host: a.b, auth: {type: external}}}":    "ingress.auth.externalURL",
		"{ingress: {enabled: true, host: a.b, auth: {type: annotations}}}": "ingress.annotations",
		"{ingress: {enabled: true, host: a.b, auth: {type: basic}}, viewer: {enabled: no}}": "viewer.enabled",
		"{backends: fanout, jaeger: {enabled: true}, fanout: {queueBytes: 1Gi}}":            "places.persistence.size",
	} {
		_, complaint, err := tryRender(t, values)
		if err == nil {
			t.Errorf("%s: accepted", values)
			continue
		}
		assert.Contains(t, complaint, said, values)
	}
}
