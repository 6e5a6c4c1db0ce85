package e2e

import (
	"syscall"
	"testing"
	"time"

	"github.com/runspan/runspan/test/e2e/harness"
)

// The same with a real Jaeger as the backend: dead from the start; there later, everything is found.
func TestRunFileReceiver_JaegerDeadFromTheStart(t *testing.T) {
	for _, retry := range everyRetry {
		t.Run("retry "+retry, func(t *testing.T) {
			ports := harness.FreePorts(t, 5)
			c := startTail(t, harness.CollectorSettings{Jaeger: ports[0]}, retry)
			sent := harness.StartTraining(t, harness.TrainingSettings{Endpoint: c.GRPC}).Wait(t)
			j := harness.StartJaegerAt(t, ports[0], ports[1:])
			requireInJaeger(t, j, sent)
			harness.RequireSameSpans(t, sent, harness.ReadTraceFile(t, c.TraceFile()))
		})
	}
}

// A Jaeger that stands still in mid-load, with its port open and no answer, and goes on later. It
// keeps its spans in memory: a real stop would lose them with it.
func TestRunFileReceiver_JaegerStandsStillInMidLoad(t *testing.T) {
	for _, retry := range everyRetry {
		t.Run("retry "+retry, func(t *testing.T) {
			j := harness.StartJaeger(t)
			c := startTail(t, harness.CollectorSettings{Jaeger: j.OTLP}, retry)
			before := harness.StartTraining(t, harness.TrainingSettings{Endpoint: c.GRPC}).Wait(t)
			signal(t, j.Process, syscall.SIGSTOP)
			during := harness.StartTraining(t, harness.TrainingSettings{Endpoint: c.GRPC}).Wait(t)
			waitMetric(t, c, 0, "otelcol_receiver_run_file_backend_up")
			signal(t, j.Process, syscall.SIGCONT)
			after := harness.StartTraining(t, harness.TrainingSettings{Endpoint: c.GRPC}).Wait(t)
			// What was on its way when it stood still may have been taken although nobody heard so:
			// at least once.
			requireAllInJaeger(t, j, before, during, after)
			waitMetric(t, c, 1, "otelcol_receiver_run_file_backend_up")
		})
	}
}

// The collector killed five times in the middle of a backlog.
func TestRunFileReceiver_JaegerAndKills(t *testing.T) {
	ports := harness.FreePorts(t, 5)
	t.Setenv("RUNSPAN_TEST_BATCH", "40000")
	c := startTail(t, harness.CollectorSettings{Jaeger: ports[0]}, "true")
	sent := sendBacklog(t, c, 1000, 20, 2000)
	j := harness.StartJaegerAt(t, ports[0], ports[1:])
	for range 5 {
		time.Sleep(300 * time.Millisecond)
		c.Kill()
		c = startTail(t, harness.CollectorSettings{Jaeger: ports[0], Data: c.Data}, "true")
	}
	waitMetric(t, c, 0, "otelcol_receiver_run_file_backlog_bytes")
	requireAllInJaeger(t, j, sent)
}

// requireAllInJaeger fails the test unless Jaeger has each of the spans at least once, and no other
// of their runs.
func requireAllInJaeger(t *testing.T, j *harness.Jaeger, runs ...[]harness.Span) {
	t.Helper()
	for _, sent := range runs {
		var got []harness.Span
		services := map[string]bool{}
		for _, s := range sent {
			services[s.Service] = true
		}
		for service := range services {
			got = append(got, j.WaitSearch(t, service, sent[0].Run, 1)...)
		}
		for deadline := time.Now().Add(60 * time.Second); len(unique(got)) < len(sent) && time.Now().Before(deadline); {
			time.Sleep(200 * time.Millisecond)
			got = nil
			for service := range services {
				found, err := j.Search(t.Context(), service, sent[0].Run)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, found...)
			}
		}
		harness.RequireSameSpans(t, sent, unique(got))
	}
}

func signal(t *testing.T, p *harness.Process, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(p.PID(), s); err != nil {
		t.Fatal(err)
	}
}
