package doctor

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

func TestFileIsMissing(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{})
	missing := filepath.Join(t.TempDir(), "traces.jsonl")
	r := diagnose(t, "--endpoint", "http://"+c.GRPC, "--trace-jsonl", missing, "--timeout", "1s")
	requireFinding(t, r, "file-missing", 20, "change: --trace-jsonl "+missing)
	assert.Equal(t, "ok", r.states()["send"])
	assert.NoFileExists(t, missing, "the doctor makes no file")
}

func TestFileIsAFolder(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{})
	r := diagnose(t, "--endpoint", "http://"+c.GRPC, "--trace-jsonl", c.Data, "--timeout", "1s")
	requireFinding(t, r, "file-unreadable", 20, "is a folder")
}

// The file of yesterday's collector, or a copy: nobody writes it.
func TestFileThatNobodyWrites(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{})
	stale := filepath.Join(t.TempDir(), "traces.jsonl")
	require.NoError(t, os.WriteFile(stale, []byte(`{"resourceSpans":[]}`+"\n"), 0o600))
	r := diagnose(t, "--endpoint", "http://"+c.GRPC, "--trace-jsonl", stale, "--timeout", "1s")
	requireFinding(t, r, "file-not-written", 20, "nobody writes it", "change: --trace-jsonl "+stale)
}

// The file of another collector.
func TestFileOfAnotherCollector(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{})
	other := harness.StartCollector(t, harness.CollectorSettings{})
	r := diagnose(t, "--endpoint", "http://"+c.GRPC, "--trace-jsonl", other.TraceFile(), "--timeout", "1s")
	requireFinding(t, r, "file-not-same", 20, "another collector", "change: --trace-jsonl "+other.TraceFile())
}

// A collector that takes the span and drops it: the file that it writes never gets it.
func TestFileNeverGetsTheSpan(t *testing.T) {
	t.Setenv("DOCTOR_PROCESSOR", "filter/all")
	c := harness.StartCollector(t, harness.CollectorSettings{Config: testdata(t, "other-run.yaml")})
	r := diagnose(t, "--endpoint", "http://"+c.GRPC, "--trace-jsonl", c.TraceFile(), "--timeout", "1s")
	requireFinding(t, r, "file-not-same", 20, "filter")
}

func TestFileHasTheSpanInAnotherRun(t *testing.T) {
	t.Setenv("DOCTOR_PROCESSOR", "resource/one_run")
	c := harness.StartCollector(t, harness.CollectorSettings{Config: testdata(t, "other-run.yaml")})
	r := diagnose(t, "--endpoint", "http://"+c.GRPC, "--trace-jsonl", c.TraceFile(), "--timeout", "5s")
	requireFinding(t, r, "file-changed", 20, `"the-only-run"`)
}

// The file is written while a doctor follows its span: many at once find their own.
func TestManyAtOnce(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{})
	results := make(chan result)
	for range 8 {
		cmd := command(t, "--endpoint", "http://"+c.GRPC, "--trace-jsonl", c.TraceFile())
		go func() { results <- run(t, cmd) }()
	}
	for range 8 {
		r := <-results
		assert.Zero(t, r.code, r.stdout)
		assert.Less(t, r.took, 20*time.Second)
	}
	assert.Len(t, harness.ReadTraceFile(t, c.TraceFile()), 8)
}
