package e2e

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/grpc/metadata"

	"github.com/runspan/runspan/test/e2e/harness"
)

// everyMainConfig lists the shipped configs that do the main job; each must pass the same test.
var everyMainConfig = []string{"local.yaml", "fanout.yaml", "stock.yaml"}

// The main job: two training runs at the same time, each a driver and two actors, and a gateway;
// over gRPC, HTTP with protobuf and HTTP with JSON. The file holds what was acknowledged, each span
// once, under its run and service.
func TestMainJob_File(t *testing.T) {
	for _, config := range everyMainConfig {
		t.Run(config, func(t *testing.T) {
			c := harness.StartCollector(t, harness.CollectorSettings{Config: config})
			sent := runEverything(t, c)
			harness.RequireSameSpans(t, sent, harness.ReadTraceFile(t, c.TraceFile()))
			if code := c.Stop(20 * time.Second); code != 0 {
				t.Fatalf("the collector ended with code %d", code)
			}
			harness.RequireSameSpans(t, sent, harness.ReadTraceFile(t, c.TraceFile()))
		})
	}
}

// The same with a real Jaeger: a search by service and tag run.id returns exactly the traces of
// that run, for each run.
func TestMainJob_Jaeger(t *testing.T) {
	for _, config := range everyMainConfig {
		t.Run(config, func(t *testing.T) {
			j := harness.StartJaeger(t)
			c := harness.StartCollector(t, harness.CollectorSettings{Config: config, Jaeger: j.OTLP})
			sent := runEverything(t, c)
			harness.RequireSameSpans(t, sent, harness.ReadTraceFile(t, c.TraceFile()))
			requireInJaeger(t, j, sent)
		})
	}
}

var xtunerRunID = regexp.MustCompile(`^\d{8}-\d{6}-\d+-[0-9a-f]{8}$`)

// runEverything runs two training runs and a gateway at the same time and returns what was
// acknowledged.
func runEverything(t *testing.T, c *harness.Collector) []harness.Span {
	t.Helper()
	first := harness.StartTraining(t, harness.TrainingSettings{Protocol: "grpc", Endpoint: c.GRPC})
	second := harness.StartTraining(t, harness.TrainingSettings{Protocol: "http", Endpoint: c.HTTP})
	gateway := harness.StartGateway(t, c.HTTP, "gateway/team a", 100)
	a, b, g := first.Wait(t), second.Wait(t), gateway.Wait(t)

	// 5 spans a sample, 64 samples; 2 spans a request, 100 requests: a producer that sent less
	// would make the comparison below easy to pass.
	if len(a) != 320 || len(b) != 320 || len(g) != 200 {
		t.Fatalf("%d, %d and %d spans were acknowledged, want 320, 320 and 200", len(a), len(b), len(g))
	}
	if a[0].Run == b[0].Run || !xtunerRunID.MatchString(a[0].Run) {
		t.Fatalf("run ids %q and %q", a[0].Run, b[0].Run)
	}
	requireChainsAcrossProcesses(t, a)
	return slices.Concat(a, b, g)
}

// requireChainsAcrossProcesses fails the test unless every span of an actor hangs below one of the
// driver: a test whose processes never meet would prove nothing about traces.
func requireChainsAcrossProcesses(t *testing.T, spans []harness.Span) {
	t.Helper()
	byKey := map[string]harness.Span{}
	for _, s := range spans {
		byKey[s.Key()] = s
	}
	crossings := 0
	for _, s := range spans {
		if s.Name != "rollout.worker.generate" {
			continue
		}
		parent, ok := byKey[s.TraceID+"/"+s.Parent]
		if !ok || parent.Name != "rollout.controller.generate" || parent.Service == s.Service {
			t.Fatalf("%+v hangs below %+v", s, parent)
		}
		crossings++
	}
	if crossings != 64 {
		t.Fatalf("%d traces cross processes, want 64", crossings)
	}
}

// requireInJaeger fails the test unless Jaeger has exactly the given spans, by run and service.
func requireInJaeger(t *testing.T, j *harness.Jaeger, sent []harness.Span) {
	t.Helper()
	type search struct{ service, run string }
	searches := map[search]bool{}
	for _, s := range sent {
		searches[search{s.Service, s.Run}] = true
	}
	for q := range searches {
		// Every trace of a run goes through each of its services: the search returns the whole run.
		want := harness.OfRun(sent, q.run)
		harness.RequireSameSpans(t, want, j.WaitSearch(t, q.service, q.run, len(want)))
	}
}

// A run that only spans name, and one that nothing names.
func TestRunOnSpansOnlyAndNowhere(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{})
	onSpans := harness.StartTraining(t, harness.TrainingSettings{Endpoint: c.GRPC, RunOn: "span", Samples: 16})
	nowhere := harness.StartTraining(t, harness.TrainingSettings{Endpoint: c.GRPC, RunOn: "nowhere", Samples: 16})
	a, b := onSpans.Wait(t), nowhere.Wait(t)

	got := harness.ReadTraceFile(t, c.TraceFile())
	harness.RequireSameSpans(t, slices.Concat(a, b), got)
	if n := len(harness.OfRun(got, "unassigned")); n != len(b) {
		t.Fatalf("%d spans are under unassigned, want %d", n, len(b))
	}
	if n := len(harness.OfRun(got, a[0].Run)); n != len(a) || a[0].Run == "unassigned" {
		t.Fatalf("%d spans are under %q, want %d", n, a[0].Run, len(a))
	}
}

// A restart appends: what the first process wrote stays.
func TestRestartAppends(t *testing.T) {
	for _, config := range everyMainConfig {
		t.Run(config, func(t *testing.T) {
			first := harness.StartCollector(t, harness.CollectorSettings{Config: config})
			sent := harness.StartTraining(t, harness.TrainingSettings{Endpoint: first.GRPC, Samples: 16}).Wait(t)
			if code := first.Stop(20 * time.Second); code != 0 {
				t.Fatalf("the collector ended with code %d", code)
			}
			second := harness.StartCollector(t, harness.CollectorSettings{Config: config, Data: first.Data})
			sent = append(sent, harness.StartTraining(t, harness.TrainingSettings{Endpoint: second.GRPC, Samples: 16}).Wait(t)...)
			harness.RequireSameSpans(t, sent, harness.ReadTraceFile(t, second.TraceFile()))
		})
	}
}

// A run that only the headers of a request name (an engine configured by its environment), and one
// that only another span of the trace names (an engine that knows no run at all).
func TestRunFromHeadersAndFromTheTrace(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{})

	nameless := spanWithAttribute("from an engine")
	nameless.ResourceSpans().At(0).Resource().Attributes().Remove("run.id")
	headers := metadata.AppendToOutgoingContext(t.Context(), "x-run-id", "by header")
	if err := exportContext(headers, t, c.GRPC, nameless); err != nil {
		t.Fatal(err)
	}

	parent := spanWithAttribute("from a driver")
	spanOf(parent).SetTraceID(pcommon.TraceID{7})
	spanOf(nameless).SetTraceID(pcommon.TraceID{7})
	spanOf(nameless).SetSpanID(pcommon.SpanID{8})
	for _, td := range []ptrace.Traces{parent, nameless} {
		if err := export(t, c.GRPC, td); err != nil {
			t.Fatal(err)
		}
	}

	var runs []string
	for _, s := range harness.ReadTraceFile(t, c.TraceFile()) {
		runs = append(runs, s.Run)
	}
	if want := []string{"by header", "by hand", "by hand"}; !slices.Equal(runs, want) {
		t.Fatalf("runs %q, want %q", runs, want)
	}
}
