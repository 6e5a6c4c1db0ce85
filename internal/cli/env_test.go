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
