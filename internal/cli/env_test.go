package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Where tracing is off by the environment, that is said, and not that a flag is missing.
func TestEnvWithSDKDisabled(t *testing.T) {
	t.Setenv("OTEL_SDK_DISABLED", "true")
	code, stdout, stderr := runspan(t.Context(), "env", "--endpoint", "http://127.0.0.1:4317")
	assert.Equal(t, 2, code)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "OTEL_SDK_DISABLED is true")
	assert.NotContains(t, stderr, "missing")
}

func TestFlagNames(t *testing.T) {
	assert.Equal(t, "--view-host, --view-port, --jaeger-query-url: no effect without --view",
		flagNames.Replace("Viewer.Host, Viewer.Port, Viewer.JaegerQueryURL: no effect without Viewer.Enabled"))
	assert.Equal(t, "--output-dir, --host, --grpc-port, --http-port, --collector: no effect with the endpoint of --endpoint",
		flagNames.Replace("Local.OutputDir, Local.Host, Local.GRPCPort, Local.HTTPPort, Local.Binary: no effect with the endpoint of Endpoint"))
}
