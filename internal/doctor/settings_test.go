package doctor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTarget(t *testing.T) {
	for _, tc := range []struct {
		name    string
		set     Settings
		address string
		way     way
	}{
		{"gRPC by default", Settings{Endpoint: "http://h:4317"}, "h:4317", way{GRPC, false, "/v1/traces"}},
		{"any other port too", Settings{Endpoint: "https://h:9000/"}, "h:9000", way{GRPC, true, "/v1/traces"}},
		{"HTTP by its port", Settings{Endpoint: "http://h:4318"}, "h:4318", way{HTTP, false, "/v1/traces"}},
		{"HTTP by its path", Settings{Endpoint: "https://h/otlp/"}, "h:443", way{HTTP, true, "/otlp/v1/traces"}},
		{"as it was said", Settings{Endpoint: "http://h:4318", Protocol: GRPC}, "h:4318", way{GRPC, false, "/v1/traces"}},
		{"the path as it is", Settings{Endpoint: "http://h:4318/v1/traces", Exact: true}, "h:4318", way{HTTP, false, "/v1/traces"}},
		{"an address of IPv6", Settings{Endpoint: "http://[::1]:4317"}, "[::1]:4317", way{GRPC, false, "/v1/traces"}},
		{"without a port", Settings{Endpoint: "http://h", Protocol: HTTP}, "h:80", way{HTTP, false, "/v1/traces"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := tc.set.target()
			require.NoError(t, err)
			assert.Equal(t, tc.address, got.address())
			assert.Equal(t, tc.way, got.way)
		})
	}
}

func TestFromEnv(t *testing.T) {
	env := map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT":        "http://general:4317",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://traces:4318/x",
		"OTEL_EXPORTER_OTLP_PROTOCOL":        "grpc",
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
		"OTEL_EXPORTER_OTLP_HEADERS":         "authorization=Bearer%20x, X-Two = 2 ,",
		"OTEL_EXPORTER_OTLP_CERTIFICATE":     "ca.pem",
	}
	set := Settings{Headers: map[string]string{"x-two": "flag"}}
	require.NoError(t, set.FromEnv(func(name string) string { return env[name] }))
	assert.Equal(t, Settings{
		Endpoint: "http://traces:4318/x", Exact: true, Protocol: HTTP, CA: "ca.pem",
		Headers: map[string]string{"authorization": "Bearer x", "x-two": "flag"},
	}, set, "those of traces go before the general ones, and flags before both")

	set = Settings{Endpoint: "http://flag:4317", Protocol: GRPC}
	require.NoError(t, set.FromEnv(func(name string) string { return env[name] }))
	assert.Equal(t, "http://flag:4317", set.Endpoint)
	assert.False(t, set.Exact)
	assert.Equal(t, GRPC, set.Protocol)

	env["OTEL_EXPORTER_OTLP_HEADERS"] = "secret"
	err := set.FromEnv(func(name string) string { return env[name] })
	require.ErrorContains(t, err, "OTEL_EXPORTER_OTLP_HEADERS")
	assert.NotContains(t, err.Error(), "secret")
}

func TestSettingsAreRefused(t *testing.T) {
	for _, tc := range []struct {
		set  Settings
		says string
	}{
		{Settings{}, "--endpoint is missing"},
		{Settings{Endpoint: "h:4317"}, "has no scheme: write http://h:4317"},
		{Settings{Endpoint: "http://"}, "names no host"},
		{Settings{Endpoint: "http://user:secret@h:1"}, "holds a password"},
		{Settings{Endpoint: "https://h:1", Cert: "none.pem"}, `--cert "none.pem" and --key ""`},
		{Settings{Endpoint: "https://h:1", CA: "settings.go"}, "--ca settings.go holds no certificate"},
		{Settings{Endpoint: "http://h:1", TraceFile: "data/"}, `--trace-jsonl "data/" is a folder`},
		{Settings{Endpoint: "http://h:1", Jaeger: "grpc://h"}, `the scheme of --jaeger "grpc://h"`},
	} {
		tc.set.Timeout = time.Second
		_, err := Run(t.Context(), tc.set)
		require.ErrorContains(t, err, tc.says)
		assert.NotContains(t, err.Error(), "secret")
	}
}
