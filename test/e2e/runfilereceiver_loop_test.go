package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/runspan/runspan/test/e2e/harness"
)

// A receiver that feeds the file that it reads: where nothing else can be behind it, it is refused at
// the start; where something else is behind it too, with the first batch, before a line is doubled.
func TestRunFileReceiver_LoopIsRefused(t *testing.T) {
	t.Run("at the start", func(t *testing.T) {
		t.Setenv("RUNSPAN_TEST_EXPORTERS", "[run_file]")
		c := harness.LaunchCollector(t, harness.CollectorSettings{Config: testConfig(t, "loop.yaml")})
		requireEnds(t, c, "include", "*.jsonl", "feeds the file that it reads")
	})
	t.Run("at the first batch", func(t *testing.T) {
		t.Setenv("RUNSPAN_TEST_EXPORTERS", "[run_file, debug]")
		c := harness.StartCollector(t, harness.CollectorSettings{Config: testConfig(t, "loop.yaml")})
		if err := export(t, c.GRPC, spanWithAttribute("once")); err != nil {
			t.Fatal(err)
		}
		select {
		case <-c.Ended():
		case <-time.After(20 * time.Second):
			t.Fatal("the collector goes on")
		}
		if !strings.Contains(c.Log(), "feeds the file that it reads") {
			t.Fatalf("the log does not say why:\n%s", c.Log())
		}
		if n := len(harness.ReadUntaggedTraceFile(t, c.TraceFile())); n != 1 {
			t.Fatalf("%d spans in the file, want 1", n)
		}
	})
}
