package doctor

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/runspan/runspan/test/e2e/harness"
)

func TestJaeger(t *testing.T) {
	j := harness.StartJaeger(t)
	c := harness.StartCollector(t, harness.CollectorSettings{Jaeger: j.OTLP})
	r := diagnose(t, "--endpoint", "http://"+c.GRPC, "--jaeger", "http://"+j.Query, "--timeout", "30s")
	requireWell(t, r)
	assert.Equal(t, "ok", r.states()["jaeger"])
	assert.Len(t, j.WaitSearch(t, "runspan-doctor", r.RunID, 1), 1)

	// A collector that hands its spans elsewhere.
	other := harness.StartCollector(t, harness.CollectorSettings{})
	r = diagnose(t, "--endpoint", "http://"+other.GRPC, "--trace-jsonl", other.TraceFile(), "--jaeger", "http://"+j.Query, "--timeout", "2s")
	requireFinding(t, r, "jaeger-without-trace", 22, "otelcol_receiver_run_file_backend_up", "change: --jaeger http://"+j.Query, "RUNSPAN_JAEGER")
	assert.Equal(t, "ok", r.states()["file"])
}

func TestJaegerIsAnotherServer(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{})
	r := diagnose(t, "--endpoint", "http://"+c.GRPC, "--jaeger", "http://"+c.Health, "--timeout", "2s")
	requireFinding(t, r, "jaeger-not-one", 22, "change: --jaeger http://"+c.Health)
	nobody := harness.FreePorts(t, 1)[0]
	r = diagnose(t, "--endpoint", "http://"+c.GRPC, "--jaeger", "http://"+nobody, "--timeout", "2s")
	requireFinding(t, r, "jaeger-unreachable", 22, "change: --jaeger http://"+nobody)
}
