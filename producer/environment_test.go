package producer

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func childEnvOf(t *testing.T, cfg Config, vars map[string]string) map[string]string {
	t.Helper()
	cfg.Enabled = true
	s, err := resolve(cfg, variables(vars))
	require.NoError(t, err)
	return s.childEnv(s.endpoint, variables(vars))
}

func TestChildEnv(t *testing.T) {
	for _, tc := range []struct {
		name string
		cfg  Config
		env  map[string]string
		want map[string]string
	}{
		{
			name: "gRPC",
			cfg:  Config{Endpoint: "http://h:4317", RunID: "run 7", ServiceName: "trainer", ServiceVersion: "3", ServiceInstance: "x", TraceJSONL: "/shared/traces.jsonl"},
			want: map[string]string{
				"RUNSPAN_CHILD":                      "1",
				"OTEL_SERVICE_NAME":                  "trainer",
				"OTEL_RESOURCE_ATTRIBUTES":           "run.id=run%207",
				"OTEL_TRACES_EXPORTER":               "otlp",
				"OTEL_METRICS_EXPORTER":              "none",
				"OTEL_LOGS_EXPORTER":                 "none",
				"OTEL_EXPORTER_OTLP_ENDPOINT":        "http://h:4317",
				"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://h:4317",
				"OTEL_EXPORTER_OTLP_PROTOCOL":        "grpc",
				"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc",
				"OTEL_EXPORTER_OTLP_INSECURE":        "true",
				"OTEL_EXPORTER_OTLP_TRACES_INSECURE": "true",
				"OTEL_TRACES_SAMPLER":                "parentbased_traceidratio",
				"OTEL_TRACES_SAMPLER_ARG":            "1",
			},
		},
		{
			name: "HTTP with TLS and a token",
			cfg: Config{
				Endpoint: "https://h/otlp", SampleRatio: 0.25, Headers: map[string]string{"authorization": "Bearer a,b=c"},
				TLS: TLS{CAFile: "/ca.pem", CertFile: "/c.pem", KeyFile: "/k.pem"},
			},
			env: map[string]string{"OTEL_RESOURCE_ATTRIBUTES": "run.id=r,service.instance.id=pod-3,service.version=2,team=a%2Cb"},
			want: map[string]string{
				"RUNSPAN_CHILD":                                "1",
				"OTEL_RESOURCE_ATTRIBUTES":                     "run.id=r,team=a%2Cb",
				"OTEL_TRACES_EXPORTER":                         "otlp",
				"OTEL_METRICS_EXPORTER":                        "none",
				"OTEL_LOGS_EXPORTER":                           "none",
				"OTEL_EXPORTER_OTLP_ENDPOINT":                  "https://h/otlp",
				"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT":           "https://h/otlp/v1/traces",
				"OTEL_EXPORTER_OTLP_PROTOCOL":                  "http/protobuf",
				"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL":           "http/protobuf",
				"OTEL_EXPORTER_OTLP_INSECURE":                  "false",
				"OTEL_EXPORTER_OTLP_TRACES_INSECURE":           "false",
				"OTEL_TRACES_SAMPLER":                          "parentbased_traceidratio",
				"OTEL_TRACES_SAMPLER_ARG":                      "0.25",
				"OTEL_EXPORTER_OTLP_HEADERS":                   "authorization=Bearer%20a%2Cb%3Dc",
				"OTEL_EXPORTER_OTLP_TRACES_HEADERS":            "authorization=Bearer%20a%2Cb%3Dc",
				"OTEL_EXPORTER_OTLP_CERTIFICATE":               "/ca.pem",
				"OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE":        "/ca.pem",
				"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE":        "/c.pem",
				"OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE": "/c.pem",
				"OTEL_EXPORTER_OTLP_CLIENT_KEY":                "/k.pem",
				"OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY":         "/k.pem",
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := childEnvOf(t, tc.cfg, tc.env)
			assert.Equal(t, tc.want, got)

			// A child decides the same from it, and hands the same on.
			child, err := resolve(Config{Enabled: true}, variables(got))
			require.NoError(t, err)
			assert.Equal(t, got, child.childEnv(child.endpoint, variables(got)))
			assert.Empty(t, child.warnings)
			assert.Empty(t, child.TraceJSONL)
		})
	}
}

// What this process was given for itself must not lead its children elsewhere.
func TestChildEnvOverrules(t *testing.T) {
	vars := map[string]string{
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT":    "https://elsewhere:4317",
		"OTEL_EXPORTER_OTLP_HEADERS":            "authorization=secret",
		"OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE": "/elsewhere.pem",
		"OTEL_TRACES_EXPORTER":                  "console",
	}
	s, err := resolve(Config{Enabled: true, LocalCollector: true, RunID: "r"}, variables(vars))
	require.NoError(t, err)
	require.Equal(t, ModeLocal, s.mode)
	got := s.childEnv(s.localEndpoint("10.0.0.7", ports{1234, 1235}), variables(vars))
	assert.Equal(t, "http://10.0.0.7:1234", got["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"])
	assert.Equal(t, "otlp", got["OTEL_TRACES_EXPORTER"])
	for _, unset := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE"} {
		value, there := got[unset]
		assert.True(t, there && value == "", unset)
	}
	assert.NotContains(t, got, "OTEL_EXPORTER_OTLP_CERTIFICATE")
}

// The headers of the environment go to the endpoint of the environment, and on to children.
func TestHeadersOfTheEnvironment(t *testing.T) {
	vars := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "https://h:4317", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "authorization=Bearer%20x"}
	got := childEnvOf(t, Config{}, vars)
	assert.Equal(t, "authorization=Bearer%20x", got["OTEL_EXPORTER_OTLP_HEADERS"])
	assert.Equal(t, "authorization=Bearer%20x", got["OTEL_EXPORTER_OTLP_TRACES_HEADERS"])
}
