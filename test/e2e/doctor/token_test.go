package doctor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

func TestToken(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{Config: testdata(t, "token.yaml")})
	for _, args := range [][]string{
		{"--endpoint", "http://" + c.GRPC},
		{"--endpoint", "http://" + c.HTTP, "--protocol", "http"},
	} {
		missing := diagnose(t, args...)
		requireFinding(t, missing, "token-missing", 17, "OTEL_EXPORTER_OTLP_HEADERS")
		wrong := diagnose(t, append(args, "--header", "authorization=Bearer swordfish")...)
		requireFinding(t, wrong, "token-wrong", 17, "OTEL_EXPORTER_OTLP_HEADERS")
		require.NotContains(t, wrong.stdout+wrong.stderr, "swordfish", "a token is not repeated")
		requireWell(t, diagnose(t, append(args, "--header", "Authorization=Bearer sesame", "--trace-jsonl", c.TraceFile())...))
		requireWell(t, diagnoseIn(t, []string{"OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20sesame,x-other=1"}, nil, args...))
	}
	// The wrong port is told as such, with a token and without.
	for _, token := range [][]string{nil, {"--header", "authorization=Bearer sesame"}} {
		requireFinding(t, diagnose(t, append(token, "--endpoint", "http://"+c.HTTP, "--protocol", "grpc")...), "grpc-on-http", 15)
		requireFinding(t, diagnose(t, append(token, "--endpoint", "http://"+c.GRPC, "--protocol", "http")...), "http-on-grpc", 15)
	}
}
