package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/runspan/runspan/test/e2e/harness"
)

// everyRetry are the two ways to wait for a backend: the exporter's retries without an end, which
// the shipped configs have, and none, where the receiver's own pauses do all of it.
var everyRetry = []string{"true", "false"}

// startTail starts the collector of the delivery tests, whose backend is at the given address.
func startTail(t *testing.T, set harness.CollectorSettings, retry string) *harness.Collector {
	t.Helper()
	t.Setenv("RUNSPAN_TEST_RETRY", retry)
	set.Config = testConfig(t, "tail.yaml")
	return harness.StartCollector(t, set)
}

func testConfig(t *testing.T, name string) string {
	t.Helper()
	return filepath.Join(harness.Root(t), "test", "e2e", "testdata", name)
}

// startBackend starts a second collector that listens on the given address and keeps what it takes
// in the file of the data folder.
func startBackend(t *testing.T, address, data string) *harness.Collector {
	t.Helper()
	t.Setenv("RUNSPAN_TEST_BACKEND", address)
	return harness.StartCollector(t, harness.CollectorSettings{Config: testConfig(t, "backend.yaml"), Data: data})
}

// readSoFar returns the spans in the whole lines of a file that may be written to, none when it is
// not there.
func readSoFar(t *testing.T, path string) []harness.Span {
	t.Helper()
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "copy.jsonl")
	if err := os.WriteFile(copied, data[:strings.LastIndexByte(string(data), '\n')+1], 0o600); err != nil {
		t.Fatal(err)
	}
	return harness.ReadTraceFile(t, copied)
}

// waitArrived waits until the file holds each of the spans, and returns everything in it.
func waitArrived(t *testing.T, path string, want []harness.Span) []harness.Span {
	t.Helper()
	var got []harness.Span
	harness.WaitFor(t, 90*time.Second, fmt.Sprintf("%d spans in the backend", len(want)), func() error {
		got = readSoFar(t, path)
		if n := len(unique(got)); n < len(unique(want)) {
			return fmt.Errorf("%d so far", n)
		}
		return nil
	})
	return got
}

// unique returns each span once.
func unique(spans []harness.Span) []harness.Span {
	seen := map[harness.Span]bool{}
	var once []harness.Span
	for _, s := range spans {
		if !seen[s] {
			seen[s] = true
			once = append(once, s)
		}
	}
	return once
}

// metric returns the sum of a metric of a collector over the series that hold the given labels.
func metric(t *testing.T, c *harness.Collector, name string, labels ...string) float64 {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+c.Metrics+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var sum float64
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		series, value, _ := strings.Cut(lines.Text(), "} ")
		found := strings.HasPrefix(series, name+"{")
		for _, label := range labels {
			found = found && strings.Contains(series, label)
		}
		if !found {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += v
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return sum
}

// waitMetric waits until a metric has a value.
func waitMetric(t *testing.T, c *harness.Collector, want float64, name string, labels ...string) {
	t.Helper()
	harness.WaitFor(t, 30*time.Second, fmt.Sprintf("%s%v to be %v", name, labels, want), func() error {
		if got := metric(t, c, name, labels...); got != want {
			return fmt.Errorf("it is %v", got)
		}
		return nil
	})
}

// places returns the files in the folder of the places, and the offset that each names.
func places(t *testing.T, c *harness.Collector) map[string]int64 {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(c.Data, "places", "*.place"))
	if err != nil {
		t.Fatal(err)
	}
	offsets := map[string]int64{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var place struct{ Offset int64 }
		if err := json.Unmarshal(data, &place); err != nil {
			t.Fatal(err)
		}
		offsets[file] = place.Offset
	}
	return offsets
}
