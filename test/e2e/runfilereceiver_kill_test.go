package e2e

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/runspan/runspan/test/e2e/harness"
)

// The collector killed with -9 five times in the middle of a backlog: after the last restart
// everything is in the backend, and again came only lines from behind the place that was saved.
func TestRunFileReceiver_KilledInMidBacklog(t *testing.T) {
	for _, retry := range everyRetry {
		t.Run("retry "+retry, func(t *testing.T) {
			// 400 lines, one a batch, 8 at a time: 7.5 s in all, longer than the five lives.
			backend := newMemoryBackend(t, func(ptrace.Traces) error { time.Sleep(150 * time.Millisecond); return nil })
			backend.down(t)
			t.Setenv("RUNSPAN_TEST_BATCH", "40000")
			c := startTail(t, harness.CollectorSettings{Jaeger: backend.address}, retry)
			sent := sendBacklog(t, c, 400, 20, 2000)
			backend.up(t)
			kills := killFiveTimes(t, &c, func() *harness.Collector {
				return startTail(t, harness.CollectorSettings{Jaeger: backend.address, Data: c.Data}, retry)
			})
			if size := fileSize(t, c.TraceFile()); kills[len(kills)-1] >= size {
				t.Fatalf("the last kill was behind the backlog: %v of %d", kills, size)
			}
			harness.WaitFor(t, 60*time.Second, "every span", func() error {
				if n := len(unique(backend.spans())); n < len(sent) {
					return fmt.Errorf("%d so far", n)
				}
				return nil
			})
			waitMetric(t, c, 0, "otelcol_receiver_run_file_backlog_bytes")
			harness.RequireSameSpans(t, sent, unique(backend.spans()))
			requireOnlyAgainSince(t, c.TraceFile(), kills, backend.spans())
		})
	}
}

// sendBacklog sends requests of spans, each with a text of some bytes, to a collector and returns
// them.
func sendBacklog(t *testing.T, c *harness.Collector, requests, spansEach, text int) []harness.Span {
	t.Helper()
	for i := range requests {
		td := spanWithAttribute(strings.Repeat("x", text))
		spans := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
		for spans.Len() < spansEach {
			spans.At(0).CopyTo(spans.AppendEmpty())
		}
		for j := range spansEach {
			var id [16]byte
			binary.BigEndian.PutUint64(id[:], uint64(i*spansEach+j+1))
			spans.At(j).SetTraceID(id)
			spans.At(j).SetSpanID([8]byte(id[:8]))
		}
		if err := export(t, c.GRPC, td); err != nil {
			t.Fatal(err)
		}
	}
	sent := harness.ReadTraceFile(t, c.TraceFile())
	if len(sent) != requests*spansEach {
		t.Fatalf("%d spans in the file, want %d", len(sent), requests*spansEach)
	}
	return sent
}

// killFiveTimes kills the collector and starts it again, five times, and returns the place of each
// kill, 0 where none was saved.
func killFiveTimes(t *testing.T, c **harness.Collector, start func() *harness.Collector) []int64 {
	t.Helper()
	random := rand.New(rand.NewSource(time.Now().UnixNano()))
	var at []int64
	for range 5 {
		// Shorter and longer than the second between two places.
		time.Sleep(time.Duration(600+random.Intn(1000)) * time.Millisecond)
		(*c).Kill()
		place := int64(0)
		for _, offset := range places(t, *c) {
			place = offset
		}
		at = append(at, place)
		*c = start()
	}
	t.Logf("the places were %v of %d bytes", at, fileSize(t, (*c).TraceFile()))
	return at
}

// requireOnlyAgainSince fails the test when a span came more often than the kills allow: once, and
// once more for each kill whose place was not behind its line.
func requireOnlyAgainSince(t *testing.T, file string, kills []int64, got []harness.Span) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for _, s := range got {
		times[s.Key()]++
	}
	offset := int64(0)
	again := 0
	for line := range bytes.Lines(data) {
		allowed := 1
		for _, place := range kills {
			if place <= offset {
				allowed++
			}
		}
		offset += int64(len(line))
		td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(line)
		if err != nil {
			t.Fatal(err)
		}
		for _, span := range td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
			key := span.TraceID().String() + "/" + span.SpanID().String()
			again += times[key] - 1
			if times[key] > allowed {
				t.Fatalf("span %s at %d came %d times, allowed are %d", key, offset, times[key], allowed)
			}
		}
	}
	t.Logf("%d spans came again", again)
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// A place that was damaged: intake starts as always, everything is sent again, and it is counted.
func TestRunFileReceiver_DamagedPlaces(t *testing.T) {
	address := harness.FreePorts(t, 1)[0]
	backend := startBackend(t, address, t.TempDir())
	for _, tc := range []struct {
		name   string
		spoil  func(place string) error
		reason string
	}{
		{"zeroed", func(place string) error { return os.WriteFile(place, make([]byte, 150), 0o600) }, "damaged"},
		{"truncated", func(place string) error { return os.Truncate(place, 20) }, "damaged"},
		{"unreadable", func(place string) error { // for root too
			if err := os.Remove(place); err != nil {
				return err
			}
			return os.Symlink(filepath.Base(place), place)
		}, "unreadable"},
		{"of another file", func(place string) error {
			data, err := os.ReadFile(anotherPlace(t))
			if err != nil {
				return err
			}
			return os.WriteFile(place, data, 0o600)
		}, "foreign"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := startTail(t, harness.CollectorSettings{Jaeger: address}, "true")
			before := len(readSoFar(t, backend.TraceFile()))
			sent := harness.StartTraining(t, harness.TrainingSettings{Endpoint: c.GRPC, Samples: 4}).Wait(t)
			waitMetric(t, c, float64(len(sent)), "otelcol_receiver_run_file_delivered_spans")
			if code := c.Stop(20 * time.Second); code != 0 {
				t.Fatalf("the collector ended with code %d", code)
			}
			all := places(t, c)
			if len(all) != 1 {
				t.Fatalf("places: %v", all)
			}
			for place := range all {
				if err := tc.spoil(place); err != nil {
					t.Fatal(err)
				}
			}
			c = startTail(t, harness.CollectorSettings{Jaeger: address, Data: c.Data}, "true")
			sent = append(sent, harness.StartTraining(t, harness.TrainingSettings{Endpoint: c.GRPC, Samples: 4}).Wait(t)...)
			waitMetric(t, c, float64(len(sent)), "otelcol_receiver_run_file_delivered_spans")
			waitMetric(t, c, 1, "otelcol_receiver_run_file_place_failures", fmt.Sprintf("reason=%q", tc.reason))
			harness.RequireSameSpans(t, sent, harness.ReadTraceFile(t, c.TraceFile()))
			got := readSoFar(t, backend.TraceFile())[before:]
			harness.RequireSameSpans(t, sent, unique(got))
		})
	}
}

// anotherPlace returns the place of another file, read by the same receiver.
func anotherPlace(t *testing.T) string {
	t.Helper()
	address := harness.FreePorts(t, 1)[0]
	startBackend(t, address, t.TempDir())
	c := startTail(t, harness.CollectorSettings{Jaeger: address}, "true")
	if err := export(t, c.GRPC, spanWithAttribute("another file")); err != nil {
		t.Fatal(err)
	}
	waitMetric(t, c, 1, "otelcol_receiver_run_file_delivered_spans")
	if code := c.Stop(20 * time.Second); code != 0 {
		t.Fatalf("the collector ended with code %d", code)
	}
	for place := range places(t, c) {
		return place
	}
	t.Fatal("no place")
	return ""
}
