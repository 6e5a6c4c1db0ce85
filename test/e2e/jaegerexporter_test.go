package e2e

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/runspan/runspan/test/e2e/harness"
)

// The same runs, once through OTLP (configs/local.yaml) and once through Jaeger's own protocol
// (configs/legacy-jaeger.yaml): every search finds the same spans, and they look the same.
func TestLegacyJaeger_ShowsWhatOTLPShows(t *testing.T) {
	modern, legacy := harness.StartJaeger(t), harness.StartJaeger(t)
	first := harness.StartCollector(t, harness.CollectorSettings{Jaeger: modern.OTLP})
	requireInJaeger(t, modern, runEverything(t, first))
	if err := export(t, first.GRPC, everyKindOfSpan()); err != nil {
		t.Fatal(err)
	}
	sent := sentThroughBoth(t, first, modern, legacy)

	type search struct{ service, run, operation string }
	wanted := map[search][]string{} // the spans that must be found
	for _, s := range sent {
		for _, q := range []search{{s.Service, "", ""}, {s.Service, s.Run, ""}, {s.Service, "", s.Name}, {s.Service, s.Run, s.Name}} {
			wanted[q] = append(wanted[q], s.Key())
		}
	}
	if len(wanted) < 40 {
		t.Fatalf("%d searches: the producers sent less than they should", len(wanted))
	}
	for q, spans := range wanted {
		query := url.Values{"service": {q.service}, "operation": {q.operation}}
		if q.run != "" {
			query.Set("tags", runTag(t, q.run))
		}
		want, got := find(t, modern, query), find(t, legacy, query)
		requireSameShown(t, fmt.Sprintf("%+v", q), want, got)
		for _, key := range spans {
			if _, found := got[key]; !found {
				t.Fatalf("%+v does not find span %s", q, key)
			}
		}
	}

	services := names(t, modern, "/api/services")
	if got := names(t, legacy, "/api/services"); !slices.Equal(services, got) || len(services) < 4 {
		t.Fatalf("services %q, want %q", got, services)
	}
	for _, service := range services {
		path := "/api/services/" + url.PathEscape(service) + "/operations"
		if want, got := names(t, modern, path), names(t, legacy, path); !slices.Equal(want, got) || len(want) == 0 {
			t.Fatalf("operations of %q: %q, want %q", service, got, want)
		}
	}
}

// What components/jaegerexporter/README.md lists as different is, and nothing else of those spans.
func TestLegacyJaeger_ListedDifferences(t *testing.T) {
	modern, legacy := harness.StartJaeger(t), harness.StartJaeger(t)
	first := harness.StartCollector(t, harness.CollectorSettings{Jaeger: modern.OTLP})
	if err := export(t, first.GRPC, spansThatDiffer()); err != nil {
		t.Fatal(err)
	}
	sentThroughBoth(t, first, modern, legacy)

	query := url.Values{"service": {"differences"}}
	want, got := find(t, modern, query), find(t, legacy, query)
	for key, s := range want {
		change, listed := listedDifferences[s.Operation]
		if !listed {
			t.Fatalf("%q is in no line of listedDifferences", s.Operation)
		}
		changed := s
		changed.Tags, changed.Process = slices.Clone(s.Tags), slices.Clone(s.Process)
		change(&changed)
		if reflect.DeepEqual(s, changed) {
			t.Errorf("%q does not differ as listed: %+v", s.Operation, s)
		}
		slices.Sort(changed.Tags)
		slices.Sort(changed.Process)
		want[key] = changed
	}
	if len(want) != len(listedDifferences) {
		t.Fatalf("%d spans, want %d", len(want), len(listedDifferences))
	}
	requireSameShown(t, "differences", want, got)

	// Attributes of a scope are on no page, but can be searched for.
	query.Set("tags", `{"scope attribute":"here"}`)
	if a, b := find(t, modern, query), find(t, legacy, query); len(a) == 0 || len(b) != 0 {
		t.Fatalf("%d and %d spans are found by an attribute of their scope, want all and none", len(a), len(b))
	}
}

// The wrong port: the log says what to write, nothing is stepped over, and with the right port
// everything arrives.
func TestLegacyJaeger_OTLPPortByMistake(t *testing.T) {
	j := harness.StartJaeger(t)
	t.Setenv("RUNSPAN_LEGACY_JAEGER", j.OTLP)
	c := harness.StartCollector(t, harness.CollectorSettings{Config: "legacy-jaeger.yaml"})
	sent := harness.StartTraining(t, harness.TrainingSettings{Endpoint: c.GRPC, Samples: 16}).Wait(t)
	harness.WaitFor(t, 30*time.Second, "the hint in the log", func() error {
		if !strings.Contains(c.Log(), "write the exporter otlp_grpc:") || !strings.Contains(c.Log(), j.OTLP) {
			return fmt.Errorf("the log is %s", c.Log())
		}
		return nil
	})
	if n := metric(t, c, "otelcol_receiver_run_file_refused_spans"); n != 0 {
		t.Fatalf("%v spans were stepped over", n)
	}
	if code := c.Stop(30 * time.Second); code != 0 {
		t.Fatalf("the collector ended with code %d", code)
	}
	t.Setenv("RUNSPAN_LEGACY_JAEGER", j.Legacy)
	harness.StartCollector(t, harness.CollectorSettings{Config: "legacy-jaeger.yaml", Data: c.Data})
	requireInJaeger(t, j, sent)
}

// sentThroughBoth waits until the first Jaeger has what the collector took, has the second one filled
// from the same file by configs/legacy-jaeger.yaml, and returns the spans.
func sentThroughBoth(t *testing.T, first *harness.Collector, modern, legacy *harness.Jaeger) []harness.Span {
	t.Helper()
	sent := harness.ReadTraceFile(t, first.TraceFile())
	waitShown(t, modern, sent)
	if code := first.Stop(20 * time.Second); code != 0 {
		t.Fatalf("the collector ended with code %d", code)
	}
	t.Setenv("RUNSPAN_LEGACY_JAEGER", legacy.Legacy)
	harness.StartCollector(t, harness.CollectorSettings{Config: "legacy-jaeger.yaml", Data: first.Data})
	waitShown(t, legacy, sent)
	return sent
}

// waitShown waits until a Jaeger has each of the spans.
func waitShown(t *testing.T, j *harness.Jaeger, sent []harness.Span) {
	t.Helper()
	services := map[string][]harness.Span{}
	for _, s := range sent {
		services[s.Service] = append(services[s.Service], s)
	}
	harness.WaitFor(t, 60*time.Second, fmt.Sprintf("%d spans in Jaeger", len(sent)), func() error {
		for service, spans := range services {
			found := find(t, j, url.Values{"service": {service}})
			for _, s := range spans {
				if _, ok := found[s.Key()]; !ok {
					return fmt.Errorf("%+v is missing", s)
				}
			}
		}
		return nil
	})
}

// find asks over all times, and fails the test for a span that is there twice.
func find(t *testing.T, j *harness.Jaeger, query url.Values) map[string]harness.Shown {
	t.Helper()
	query.Set("limit", "100000")
	query.Set("start", "0")
	query.Set("end", "4000000000000000") // microseconds: the year 2096
	shown, err := j.Find(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]harness.Shown{}
	for _, s := range shown {
		key := s.TraceID + "/" + s.SpanID
		if _, twice := found[key]; twice {
			t.Fatalf("span %s is there twice", key)
		}
		found[key] = s
	}
	return found
}

func names(t *testing.T, j *harness.Jaeger, path string) []string {
	t.Helper()
	names, err := j.Names(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func runTag(t *testing.T, run string) string {
	t.Helper()
	tags, err := json.Marshal(map[string]string{"run.id": run})
	if err != nil {
		t.Fatal(err)
	}
	return string(tags)
}

func requireSameShown(t *testing.T, what string, want, got map[string]harness.Shown) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%s: %d spans, want %d", what, len(got), len(want))
	}
	for key, w := range want {
		if g := got[key]; !reflect.DeepEqual(w, g) {
			t.Errorf("%s:\n%+v, want\n%+v", what, g, w)
		}
	}
}
