package doctor

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

// One test span goes the whole way, over both protocols, and is all that is left behind.
func TestHealthy(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{})
	var want []harness.Span
	for _, args := range [][]string{
		{"--endpoint", "http://" + c.GRPC},
		{"--endpoint", "http://" + c.HTTP, "--protocol", "http"},
	} {
		r := diagnose(t, append(args, "--trace-jsonl", c.TraceFile())...)
		requireWell(t, r)
		assert.Regexp(t, `^doctor-\d{8}-\d{6}-\d+-[0-9a-f]{8}$`, r.RunID)
		assert.Equal(t, "ok", r.states()["file"])
		want = append(want, harness.Span{
			TraceID: r.TraceID, SpanID: r.SpanID, Name: "runspan doctor", Service: "runspan-doctor", Run: r.RunID,
		})
	}
	var got []harness.Span
	runs := map[string]bool{}
	for _, s := range harness.ReadTraceFile(t, c.TraceFile()) {
		runs[s.Run] = true
		if s.Run == want[0].Run || s.Run == want[1].Run {
			got = append(got, s)
		}
	}
	harness.RequireSameSpans(t, want, got)
	assert.Len(t, runs, 4, "each doctor has a run of its own")
}

// The environment of the program that is to send says where to and how.
func TestEnvironment(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{})
	requireWell(t, diagnoseIn(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + c.GRPC}, nil))
	requireWell(t, diagnoseIn(t, []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + c.HTTP, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
	}, nil))
	requireWell(t, diagnoseIn(t, []string{
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://" + c.HTTP + "/v1/traces", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf",
	}, nil))
	r := run(t, command(t))
	assert.Equal(t, 2, r.code)
	assert.Contains(t, r.stderr, "--endpoint is missing")
}

// Where each run has a file of its own, the pattern of the collector names that of the test's run.
func TestFilePerRun(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{Config: "per-run-files.yaml"})
	r := diagnose(t, "--endpoint", "http://"+c.GRPC, "--trace-jsonl", filepath.Join(c.Data, "runs", "{run.id}", "traces.jsonl"))
	requireWell(t, r)
	_, err := os.Stat(filepath.Join(c.Data, "runs", r.RunID, "traces.jsonl"))
	require.NoError(t, err)
}

func TestWrongUse(t *testing.T) {
	for _, tc := range []struct {
		args []string
		says string
	}{
		{[]string{"--endpoint", "127.0.0.1:4317"}, `--endpoint "127.0.0.1:4317" has no scheme: write http://127.0.0.1:4317`},
		{[]string{"--endpoint", "ftp://h:1"}, `the scheme of --endpoint "ftp://h:1" is "ftp": write http or https`},
		{[]string{"--endpoint", "http://h:4317", "--protocol", "udp"}, `--protocol "udp" is unknown: write grpc or http`},
		{[]string{"--endpoint", "http://h:99999"}, `--endpoint "http://h:99999"`},
		{[]string{"--endpoint", "http://h:4317", "--timeout", "0s"}, `--timeout 0s`},
		{[]string{"--endpoint", "http://h:4317", "--header", "novalue"}, `--header "novalue" has no value: write KEY=VALUE`},
		{[]string{"--endpoint", "http://h:4317", "--ca", "missing.pem"}, `--ca`},
		{[]string{"--endpoint", "http://h:4317", "--trace-jsonl", "x/{run}.jsonl"}, `--trace-jsonl`},
		{[]string{"--endpoint", "http://h:4317", "--viewer", "h:1"}, `--viewer "h:1" has no scheme`},
		{[]string{"--endpoint", "http://h:4317", "extra"}, `unknown command "extra"`},
	} {
		r := run(t, command(t, tc.args...))
		assert.Equal(t, 2, r.code, tc.args)
		assert.Contains(t, r.stderr, tc.says)
		assert.Empty(t, r.stdout)
	}
}
