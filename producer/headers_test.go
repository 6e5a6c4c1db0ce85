package producer

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A header that cannot be sent is an error, or a warning where it is the environment's; its value is in neither.
func TestHeaders(t *testing.T) {
	for _, tc := range []struct {
		name        string
		key, value  string
		encoded     string
		says        string
		onlyForGRPC bool
	}{
		{name: "a blank in the name", key: "a b", value: "secret", encoded: "a b=secret", says: `begins with "a"`},
		{name: "a token in the name", key: "authorization: secret", value: "x", encoded: "authorization: secret=x", says: `begins with "authorization"`},
		{name: "no ASCII in the name", key: "t\u00f6ken", value: "secret", encoded: "t\u00f6ken=secret", says: `begins with "t"`},
		{name: "no ASCII in the value", key: "token", value: "secret\u00f6", encoded: "token=secret%C3%B6", says: `value of the header "token"`},
		{name: "a line's end in the value", key: "token", value: "secret\nx: y", encoded: "token=secret%0Ax", says: `value of the header "token"`},
		{name: "a name for HTTP", key: "a+b", value: "secret", encoded: "a+b=secret", says: `begins with "a"`, onlyForGRPC: true},
		{name: "a name of gRPC", key: "grpc-timeout", value: "secret", encoded: "grpc-timeout=secret", says: "gRPC's own", onlyForGRPC: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, protocol := range []Protocol{ProtocolGRPC, ProtocolHTTP} {
				cfg := Config{Enabled: true, Endpoint: "http://h:4317", Protocol: protocol}
				vars := variables(map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": tc.encoded + ",good=1"})
				s, err := resolve(cfg, vars)
				require.NoError(t, err)
				cfg.Headers = map[string]string{tc.key: tc.value, "good": "1"}
				_, wrong := resolve(cfg, vars)
				if tc.onlyForGRPC && protocol == ProtocolHTTP {
					require.NoError(t, wrong)
					assert.Empty(t, s.warnings)
					continue
				}
				requireSettings(t, wrong, "Headers")
				require.ErrorContains(t, wrong, tc.says)
				assert.NotContains(t, wrong.Error(), "secret")

				assert.Equal(t, map[string]string{"good": "1"}, s.Headers)
				assert.Equal(t, "good=1", s.childEnv(s.endpoint, vars)["OTEL_EXPORTER_OTLP_HEADERS"], "for children too")
				require.Len(t, s.warnings, 1)
				assert.Contains(t, s.warnings[0], "OTEL_EXPORTER_OTLP_HEADERS: ")
				assert.Contains(t, s.warnings[0], tc.says)
				assert.NotContains(t, s.warnings[0], "secret")
			}
		})
	}
	s, err := resolve(Config{Enabled: true, Endpoint: "http://h:4317", Headers: map[string]string{"Authorization": "Bearer a=b,c", "x-bin": "\u00f6"}}, variables(nil))
	require.NoError(t, err)
	assert.Len(t, s.Headers, 2)
}
