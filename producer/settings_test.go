package producer

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func variables(vars map[string]string) environment {
	return func(name string) string { return vars[name] }
}

// Every combination of the settings that decide: what is on, where an endpoint is, what the viewer has.
func TestEveryCombination(t *testing.T) {
	both := []bool{false, true}
	n := 0
	for _, enabled := range both {
		for _, disabled := range both {
			for _, setting := range both {
				for _, fromEnv := range both {
					for _, local := range both {
						for _, viewer := range both {
							for _, file := range both {
								for _, child := range both {
									name := fmt.Sprintf("enabled=%v disabled=%v endpoint=%v env=%v local=%v viewer=%v file=%v child=%v",
										enabled, disabled, setting, fromEnv, local, viewer, file, child)
									t.Run(name, func(t *testing.T) {
										requireCombination(t, enabled, disabled, setting, fromEnv, local, viewer, file, child)
									})
									n++
								}
							}
						}
					}
				}
			}
		}
	}
	require.Equal(t, 256, n)
}

func requireCombination(t *testing.T, enabled, disabled, setting, fromEnv, local, viewer, file, child bool) {
	t.Helper()
	cfg := Config{Enabled: enabled, LocalCollector: local, Viewer: Viewer{Enabled: viewer}}
	vars := map[string]string{}
	if disabled {
		vars["OTEL_SDK_DISABLED"] = "true"
	}
	if setting {
		cfg.Endpoint = "http://set:4317"
	}
	if fromEnv {
		vars["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://env:4317"
	}
	if file {
		cfg.TraceJSONL = "/shared/traces.jsonl"
	}
	if child {
		vars[childVariable] = "1"
	}
	s, err := resolve(cfg, variables(vars))

	external := setting || fromEnv
	switch {
	case !enabled || disabled:
		require.NoError(t, err)
		assert.Equal(t, ModeOff, s.mode)
		assert.Empty(t, s.warnings)
	case file && !external:
		requireSettings(t, err, "TraceJSONL", "Endpoint")
	case !external && !local:
		require.NoError(t, err)
		assert.Equal(t, ModeOff, s.mode)
		assert.Len(t, s.warnings, map[bool]int{true: 1}[viewer])
	case external && viewer && !file && !child:
		requireSettings(t, err, "Viewer.Enabled", "TraceJSONL")
	default:
		require.NoError(t, err)
		want := ModeLocal
		if external {
			want = ModeExternal
			host := map[bool]string{true: "set:4317", false: "env:4317"}[setting]
			assert.Equal(t, host, s.endpoint.url.Host)
		}
		assert.Equal(t, want, s.mode)
		assert.Equal(t, viewer && !child, s.Viewer.Enabled, "children start no viewer")
	}
}

// requireSettings checks that an error names these settings, also in its text.
func requireSettings(t *testing.T, err error, settings ...string) {
	t.Helper()
	var wrong *SettingError
	require.ErrorAs(t, err, &wrong)
	assert.Equal(t, settings, wrong.Settings)
	for _, setting := range settings {
		assert.ErrorContains(t, err, setting)
	}
}

func TestEndpoints(t *testing.T) {
	const traces, base = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"
	for _, tc := range []struct {
		name     string
		endpoint string
		protocol Protocol
		env      map[string]string
		traces   string
		base     string
		want     Protocol
		warns    bool
	}{
		{name: "gRPC", endpoint: "http://h:4317", traces: "http://h:4317", base: "http://h:4317", want: ProtocolGRPC},
		{name: "gRPC with TLS and without a port", endpoint: "https://h", traces: "https://h", base: "https://h", want: ProtocolGRPC},
		{name: "a slash is no path", endpoint: "http://h:4317/", traces: "http://h:4317", base: "http://h:4317", want: ProtocolGRPC},
		{name: "port 4318", endpoint: "http://h:4318", traces: "http://h:4318/v1/traces", base: "http://h:4318", want: ProtocolHTTP},
		{name: "a path", endpoint: "https://h/otlp/", traces: "https://h/otlp/v1/traces", base: "https://h/otlp", want: ProtocolHTTP},
		{name: "the whole path", endpoint: "https://h/otlp/v1/traces", traces: "https://h/otlp/v1/traces", base: "https://h/otlp", want: ProtocolHTTP},
		{name: "HTTP on another port", endpoint: "http://h:8080", protocol: ProtocolHTTP, traces: "http://h:8080/v1/traces", base: "http://h:8080", want: ProtocolHTTP},
		{name: "gRPC on 4318", endpoint: "http://h:4318", protocol: ProtocolGRPC, traces: "http://h:4318", base: "http://h:4318", want: ProtocolGRPC},
		{name: "the short name", endpoint: "http://h:8080", protocol: "HTTP", traces: "http://h:8080/v1/traces", base: "http://h:8080", want: ProtocolHTTP},
		{name: "IPv6", endpoint: "http://[fd00::2]:4317", traces: "http://[fd00::2]:4317", base: "http://[fd00::2]:4317", want: ProtocolGRPC},
		{name: "the environment's", env: map[string]string{base: "http://e:4317"}, traces: "http://e:4317", base: "http://e:4317", want: ProtocolGRPC},
		{name: "the environment's for traces", env: map[string]string{base: "http://e:4317", traces: "http://t:4317"}, traces: "http://t:4317", base: "http://t:4317", want: ProtocolGRPC},
		{
			name:   "the environment's for traces is whole",
			env:    map[string]string{traces: "http://t:4318/ingest", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"},
			traces: "http://t:4318/ingest", base: "http://t:4318/ingest", want: ProtocolHTTP,
		},
		{name: "the setting wins", endpoint: "http://h:4317", env: map[string]string{traces: "http://t:4317"}, traces: "http://h:4317", base: "http://h:4317", want: ProtocolGRPC},
		{
			name: "a protocol that is meant for another endpoint", endpoint: "http://h:4318/x", env: map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
			traces: "http://h:4318/x/v1/traces", base: "http://h:4318/x", want: ProtocolHTTP,
		},
		{
			name: "a protocol for an endpoint that does not say", endpoint: "http://h:8080", env: map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"},
			traces: "http://h:8080/v1/traces", base: "http://h:8080", want: ProtocolHTTP,
		},
		{
			name: "gRPC and a path in the environment", env: map[string]string{base: "http://e:4317/v1/traces", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
			traces: "http://e:4317", base: "http://e:4317", want: ProtocolGRPC, warns: true,
		},
		{
			name: "an unknown protocol in the environment", env: map[string]string{base: "http://e:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "kafka"},
			traces: "http://e:4317", base: "http://e:4317", want: ProtocolGRPC, warns: true,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := resolve(Config{Enabled: true, Endpoint: tc.endpoint, Protocol: tc.protocol}, variables(tc.env))
			require.NoError(t, err)
			assert.Equal(t, ModeExternal, s.mode)
			assert.Equal(t, tc.traces, s.endpoint.traces())
			assert.Equal(t, tc.base, s.endpoint.base())
			assert.Equal(t, tc.want, s.Protocol)
			assert.Equal(t, tc.warns, len(s.warnings) > 0, s.warnings)
		})
	}
}

func TestAnotherExporterOfTheEnvironment(t *testing.T) {
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://e:4317", "OTEL_TRACES_EXPORTER": "none"}
	s, err := resolve(Config{Enabled: true}, variables(env))
	require.NoError(t, err)
	assert.Equal(t, ModeOff, s.mode)

	s, err = resolve(Config{Enabled: true, Endpoint: "http://h:4317"}, variables(env))
	require.NoError(t, err)
	assert.Equal(t, ModeExternal, s.mode, "a setting is no leftover")

	env["OTEL_TRACES_EXPORTER"] = "console,otlp"
	s, err = resolve(Config{Enabled: true}, variables(env))
	require.NoError(t, err)
	assert.Equal(t, ModeExternal, s.mode)
}

func TestWrongSettings(t *testing.T) {
	const endpoint = "https://h:4317"
	for _, tc := range []struct {
		name     string
		cfg      Config
		env      map[string]string
		settings []string
	}{
		{name: "no scheme", cfg: Config{Endpoint: "h:4317"}, settings: []string{"Endpoint"}},
		{name: "another scheme", cfg: Config{Endpoint: "grpc://h:4317"}, settings: []string{"Endpoint"}},
		{name: "no host", cfg: Config{Endpoint: "http://:4317"}, settings: []string{"Endpoint"}},
		{name: "a port over all", cfg: Config{Endpoint: "http://h:65536"}, settings: []string{"Endpoint"}},
		{name: "port 0", cfg: Config{Endpoint: "https://h:0"}, settings: []string{"Endpoint"}},
		{
			name: "the environment's port", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h:99999999999999999999"},
			settings: []string{"OTEL_EXPORTER_OTLP_ENDPOINT"},
		},
		{name: "a user", cfg: Config{Endpoint: "http://user:secret@h:4317"}, settings: []string{"Endpoint"}},
		{name: "no port with gRPC in plain text", cfg: Config{Endpoint: "http://h"}, settings: []string{"Endpoint"}},
		{name: "the environment's", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "h:4317"}, settings: []string{"OTEL_EXPORTER_OTLP_ENDPOINT"}},
		{name: "gRPC and a path", cfg: Config{Endpoint: "http://h:4317/x", Protocol: ProtocolGRPC}, settings: []string{"Endpoint", "Protocol"}},
		{name: "protocol", cfg: Config{Endpoint: endpoint, Protocol: "kafka"}, settings: []string{"Protocol"}},
		{name: "ratio below 0", cfg: Config{Endpoint: endpoint, SampleRatio: -0.1}, settings: []string{"SampleRatio"}},
		{name: "ratio over 1", cfg: Config{Endpoint: endpoint, SampleRatio: 1.1}, settings: []string{"SampleRatio"}},
		{name: "ratio that is none", cfg: Config{Endpoint: endpoint, SampleRatio: math.NaN()}, settings: []string{"SampleRatio"}},
		{name: "blank run", cfg: Config{Endpoint: endpoint, RunID: " "}, settings: []string{"RunID"}},
		{name: "the run of no run", cfg: Config{Endpoint: endpoint, RunID: "unassigned"}, settings: []string{"RunID"}},
		{name: "the environment's run", cfg: Config{Endpoint: endpoint}, env: map[string]string{"OTEL_RESOURCE_ATTRIBUTES": "run.id=a%0Ab"}, settings: []string{"OTEL_RESOURCE_ATTRIBUTES"}},
		{name: "a run that is no folder", cfg: Config{LocalCollector: true, RunID: "team/a"}, settings: []string{"RunID", "LocalCollector"}},
		{
			name: "the environment's run that is no folder", cfg: Config{LocalCollector: true},
			env: map[string]string{"OTEL_RESOURCE_ATTRIBUTES": "run.id=a/b"}, settings: []string{"OTEL_RESOURCE_ATTRIBUTES", "LocalCollector"},
		},
		{
			name: "the environment's key without its certificate", cfg: Config{Endpoint: endpoint},
			env:      map[string]string{"OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY": "k.pem"},
			settings: []string{"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY"},
		},
		{name: "a run above the folder", cfg: Config{LocalCollector: true, RunID: ".."}, settings: []string{"RunID", "LocalCollector"}},
		{name: "a port", cfg: Config{LocalCollector: true, Local: Local{GRPCPort: 65536}}, settings: []string{"Local.GRPCPort"}},
		{name: "one port for two", cfg: Config{LocalCollector: true, Local: Local{GRPCPort: 7, HTTPPort: 7}}, settings: []string{"Local.GRPCPort", "Local.HTTPPort"}},
		{name: "the viewer's port", cfg: Config{LocalCollector: true, Viewer: Viewer{Enabled: true, Port: -1}}, settings: []string{"Viewer.Port"}},
		{name: "certificates and plain text", cfg: Config{Endpoint: "http://h:4317", TLS: TLS{CAFile: "ca.pem"}}, settings: []string{"TLS", "Endpoint"}},
		{name: "a certificate without its key", cfg: Config{Endpoint: endpoint, TLS: TLS{CertFile: "c.pem"}}, settings: []string{"TLS.CertFile", "TLS.KeyFile"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.cfg.Enabled = true
			_, err := resolve(tc.cfg, variables(tc.env))
			requireSettings(t, err, tc.settings...)
			assert.NotContains(t, err.Error(), "secret")
			var wrong *SettingError
			require.ErrorAs(t, err, &wrong)
			assert.Equal(t, len(tc.env) > 0, wrong.FromEnv())

			tc.cfg.Enabled = false
			_, err = resolve(tc.cfg, variables(tc.env))
			assert.NoError(t, err, "what is off is not looked at")
		})
	}
}

func TestNames(t *testing.T) {
	env := map[string]string{
		"OTEL_RESOURCE_ATTRIBUTES": "run.id=env%20run,service.name=attribute,service.version=2,service.instance.id=pod-3,team=a%2Cb, bad",
	}
	resolved := func(t *testing.T, cfg Config) settings {
		t.Helper()
		cfg.Enabled, cfg.Endpoint = true, "http://h:4317"
		s, err := resolve(cfg, variables(env))
		require.NoError(t, err)
		return s
	}
	s := resolved(t, Config{})
	assert.Equal(t, []string{"env run", "attribute", "2", "pod-3"}, []string{s.RunID, s.ServiceName, s.ServiceVersion, s.ServiceInstance})
	assert.Equal(t, map[string]string{"team": "a,b"}, s.attributes)

	env["OTEL_SERVICE_NAME"] = "variable"
	assert.Equal(t, "variable", resolved(t, Config{}).ServiceName)

	s = resolved(t, Config{RunID: "r", ServiceName: "s", ServiceVersion: "v", ServiceInstance: "i"})
	assert.Equal(t, []string{"r", "s", "v", "i"}, []string{s.RunID, s.ServiceName, s.ServiceVersion, s.ServiceInstance})

	clear(env)
	s = resolved(t, Config{})
	assert.Equal(t, []string{"", "unknown_service", "", ""}, []string{s.RunID, s.ServiceName, s.ServiceVersion, s.ServiceInstance})
}

func TestSampling(t *testing.T) {
	for _, tc := range []struct {
		set          float64
		sampler, arg string
		want         float64
		warns        bool
	}{
		{want: 1},
		{set: 0.25, want: 0.25},
		{set: 0.25, sampler: "always_off", want: 0.25},
		{sampler: "always_on", want: 1},
		{sampler: "parentbased_always_off", want: 0},
		{sampler: "parentbased_traceidratio", arg: "0.5", want: 0.5},
		{sampler: "traceidratio", arg: "0", want: 0},
		{sampler: "traceidratio", want: 1},
		{sampler: "traceidratio", arg: "2", want: 1, warns: true},
		{sampler: "traceidratio", arg: "half", want: 1, warns: true},
		{sampler: "jaeger_remote", want: 1, warns: true},
	} {
		t.Run(fmt.Sprintf("%v %s %s", tc.set, tc.sampler, tc.arg), func(t *testing.T) {
			s, err := resolve(Config{Enabled: true, Endpoint: "http://h:4317", SampleRatio: tc.set},
				variables(map[string]string{"OTEL_TRACES_SAMPLER": tc.sampler, "OTEL_TRACES_SAMPLER_ARG": tc.arg}))
			require.NoError(t, err)
			assert.InDelta(t, tc.want, s.SampleRatio, 0)
			assert.Equal(t, tc.warns, len(s.warnings) > 0)
		})
	}
}

func TestSettingsWithoutEffect(t *testing.T) {
	local := Local{OutputDir: "d", Host: "h", GRPCPort: 1, HTTPPort: 2, Binary: "b"}
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://e:4317"}
	const all = "Local.OutputDir, Local.Host, Local.GRPCPort, Local.HTTPPort, Local.Binary: no effect with the endpoint of "
	for _, tc := range []struct {
		name string
		cfg  Config
		env  map[string]string
		want []string
	}{
		{name: "local, with an endpoint", cfg: Config{Endpoint: "http://h:4317", Local: local}, want: []string{all + "Endpoint: no local collector is started"}},
		{
			name: "local, with that of the environment", cfg: Config{LocalCollector: true, Local: local}, env: env,
			want: []string{all + "OTEL_EXPORTER_OTLP_ENDPOINT: no local collector is started"},
		},
		{
			name: "headers, with a local collector", cfg: Config{LocalCollector: true, Local: local, Headers: map[string]string{"a": "b"}, TLS: TLS{CAFile: "f"}},
			want: []string{"Headers, TLS: no effect with a local collector"},
		},
		{
			name: "of the viewer", cfg: Config{LocalCollector: true, Viewer: Viewer{Host: "h", Port: 1, JaegerQueryURL: "http://j"}},
			want: []string{"Viewer.Host, Viewer.Port, Viewer.JaegerQueryURL: no effect without Viewer.Enabled"},
		},
		{name: "of a viewer that is", cfg: Config{LocalCollector: true, Viewer: Viewer{Enabled: true, Host: "h", Port: 1}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.cfg.Enabled = true
			s, err := resolve(tc.cfg, variables(tc.env))
			require.NoError(t, err)
			assert.Equal(t, tc.want, s.warnings)
		})
	}
}
