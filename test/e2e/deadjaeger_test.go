package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/runspan/runspan/test/e2e/harness"
)

// Without a Jaeger everything works all the same, and the log says so once: one line from the
// connection and one from the exporter, however many tries there are.
func TestDeadJaeger_ClientsSeeNothing(t *testing.T) {
	for _, config := range everyMainConfig {
		t.Run(config, func(t *testing.T) {
			nobody := harness.FreePorts(t, 1)[0]
			c := harness.StartCollector(t, harness.CollectorSettings{Config: config, Jaeger: nobody})
			sent := harness.StartTraining(t, harness.TrainingSettings{Endpoint: c.GRPC}).Wait(t)
			time.Sleep(12 * time.Second) // several tries of each sender: the first pauses are 1 and 5 s
			harness.RequireSameSpans(t, sent, harness.ReadTraceFile(t, c.TraceFile()))

			const most = 2
			var lines []string
			for line := range strings.SplitSeq(c.Log(), "\n") {
				if strings.Contains(line, nobody) {
					lines = append(lines, line)
				}
			}
			if len(lines) == 0 || len(lines) > most {
				t.Fatalf("%d lines name the dead Jaeger, want 1 or %d:\n%s", len(lines), most, strings.Join(lines, "\n"))
			}
			if code := c.Stop(20 * time.Second); code != 0 {
				t.Fatalf("the collector ended with code %d", code)
			}
		})
	}
}

// A Jaeger that starts late gets what it missed, also when the collector was killed in between.
func TestLateJaeger_GetsEverything(t *testing.T) {
	for _, config := range everyMainConfig {
		t.Run(config, func(t *testing.T) {
			ports := harness.FreePorts(t, 5)
			first := harness.StartCollector(t, harness.CollectorSettings{Config: config, Jaeger: ports[0]})
			sent := harness.StartTraining(t, harness.TrainingSettings{Endpoint: first.GRPC}).Wait(t)
			first.Kill()

			second := harness.StartCollector(t, harness.CollectorSettings{Config: config, Data: first.Data, Jaeger: ports[0]})
			sent = append(sent, harness.StartTraining(t, harness.TrainingSettings{Endpoint: second.GRPC}).Wait(t)...)
			j := harness.StartJaegerAt(t, ports[0], ports[1:])
			requireInJaeger(t, j, sent)
			harness.RequireSameSpans(t, sent, harness.ReadTraceFile(t, second.TraceFile()))
		})
	}
}

// A request that is larger than what Jaeger takes by default (4 MiB) arrives there in parts.
func TestJaeger_LargeRequest(t *testing.T) {
	for _, config := range everyMainConfig {
		t.Run(config, func(t *testing.T) {
			j := harness.StartJaeger(t)
			c := harness.StartCollector(t, harness.CollectorSettings{Config: config, Jaeger: j.OTLP})
			td := spanWithAttribute(strings.Repeat("x", 1<<20))
			spans := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
			for i := byte(1); i < 6; i++ {
				span := spans.AppendEmpty()
				spans.At(0).CopyTo(span)
				span.SetSpanID([8]byte{9, i})
			}
			if err := export(t, c.GRPC, td); err != nil {
				t.Fatal(err)
			}
			sent := harness.ReadTraceFile(t, c.TraceFile())
			if len(sent) != 6 {
				t.Fatalf("%d spans in the file, want 6", len(sent))
			}
			requireInJaeger(t, j, sent)
		})
	}
}
