package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRayJobConfig(t *testing.T) {
	vars := map[string]string{"OTEL_A": "new", "OTEL_B": "b"}
	for _, tc := range []struct{ name, old, want string }{
		{"none", "", `{"runtime_env":{"env_vars":{"OTEL_A":"new","OTEL_B":"b"}}}`},
		{
			"that of a job", `{"metadata":{"job_submission_id":"x"},"runtime_env":{"pip":["a"],"env_vars":{"OTEL_A":"old","C":"c"}}}`,
			`{"metadata":{"job_submission_id":"x"},"runtime_env":{"pip":["a"],"env_vars":{"OTEL_A":"new","OTEL_B":"b","C":"c"}}}`,
		},
		{"null", `{"runtime_env":null}`, `{"runtime_env":{"env_vars":{"OTEL_A":"new","OTEL_B":"b"}}}`},
		{"something else", `no JSON`, `no JSON`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := strings.CutPrefix(rayJobConfig(tc.old, vars), rayVariable+"=")
			require.True(t, ok)
			if !json.Valid([]byte(tc.want)) {
				assert.Equal(t, tc.want, got)
				return
			}
			assert.JSONEq(t, tc.want, got)
		})
	}
}
