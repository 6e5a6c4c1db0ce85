package harness

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// producersWithin is how long a producer may run: seconds, unless the collector makes it wait.
const producersWithin = 2 * time.Minute

// Training is a simulated training run: a driver and its actors, processes of their own with the
// OpenTelemetry SDK for Python (test/e2e/producers/train.py).
type Training struct {
	process *Process
	ledger  string
}

// TrainingSettings say what a Training sends, and where. Zero values: gRPC, a run id as XTuner
// makes it, on the resource; 2 actors, 64 samples (320 spans).
type TrainingSettings struct {
	Protocol string // grpc or http
	Endpoint string // host:port
	RunID    string
	RunOn    string // resource, span or nowhere
	Samples  int
	Actors   int
}

// StartTraining starts a training run.
func StartTraining(t *testing.T, set TrainingSettings) *Training {
	t.Helper()
	python := Python(t)
	tr := &Training{ledger: t.TempDir()}
	args := []string{
		filepath.Join(Root(t), "test", "e2e", "producers", "train.py"),
		"--endpoint", set.Endpoint, "--ledger", tr.ledger,
	}
	for flag, value := range map[string]string{
		"--protocol": set.Protocol, "--run-id": set.RunID, "--run-on": set.RunOn,
		"--samples": positive(set.Samples), "--actors": positive(set.Actors),
	} {
		if value != "" {
			args = append(args, flag, value)
		}
	}
	cmd := exec.Command(python, args...)
	// What the shell of the developer exports must not reach the SDK.
	cmd.Env = append(WithoutOTel(os.Environ()), "PYTHONDONTWRITEBYTECODE=1")
	tr.process = Start(t, cmd)
	return tr
}

// Wait returns the spans that were acknowledged. It fails the test when the producer failed.
func (tr *Training) Wait(t *testing.T) []Span {
	t.Helper()
	if code := tr.process.Wait(producersWithin); code != 0 {
		t.Fatalf("the training run ended with code %d", code)
	}
	files, err := filepath.Glob(filepath.Join(tr.ledger, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var spans []Span
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		spans = append(spans, parseLedger(t, string(data))...)
	}
	if len(spans) == 0 {
		t.Fatal("the training run acknowledged no span")
	}
	return spans
}

// Gateway is a producer with the OpenTelemetry SDK for JavaScript, which sends JSON over HTTP
// (test/e2e/producers/gateway.cjs).
type Gateway struct {
	process *Process
	ledger  *strings.Builder
}

// StartGateway starts a gateway that traces the given number of requests, two spans each.
func StartGateway(t *testing.T, endpoint, run string, requests int) *Gateway {
	t.Helper()
	modules := filepath.Join(producersFolder(t), "node_modules")
	if _, err := os.Stat(modules); err != nil {
		Missing(t, "the OpenTelemetry SDK for JavaScript", "install node and npm")
	}
	g := &Gateway{ledger: &strings.Builder{}}
	cmd := exec.Command("node", filepath.Join(Root(t), "test", "e2e", "producers", "gateway.cjs"),
		endpoint, run, strconv.Itoa(requests))
	cmd.Env = append(WithoutOTel(os.Environ()), "NODE_PATH="+modules)
	cmd.Stdout = g.ledger
	g.process = Start(t, cmd)
	return g
}

// Wait returns the spans that were acknowledged. It fails the test when the producer failed.
func (g *Gateway) Wait(t *testing.T) []Span {
	t.Helper()
	if code := g.process.Wait(producersWithin); code != 0 {
		t.Fatalf("the gateway ended with code %d", code)
	}
	return parseLedger(t, g.ledger.String())
}

func parseLedger(t *testing.T, ledger string) []Span {
	t.Helper()
	var spans []Span
	lines := bufio.NewScanner(strings.NewReader(ledger))
	for lines.Scan() {
		var s Span
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatalf("ledger: %v: %s", err, lines.Text())
		}
		spans = append(spans, s)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return spans
}

// producersFolder returns where scripts/producers.sh installs the SDKs; it installs what is missing.
func producersFolder(t *testing.T) string {
	t.Helper()
	return commandOutput(t, Root(t), filepath.Join("scripts", "producers.sh"))
}

func positive(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// WithoutOTel leaves out what the shell of the developer exports for an SDK.
func WithoutOTel(env []string) []string {
	var kept []string
	for _, kv := range env {
		if !strings.HasPrefix(kv, "OTEL_") {
			kept = append(kept, kv)
		}
	}
	return kept
}

// Python returns the Python of a virtual environment with the OpenTelemetry SDK.
func Python(t *testing.T) string {
	t.Helper()
	python := filepath.Join(producersFolder(t), "python", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		Missing(t, "the OpenTelemetry SDK for Python", "install python3 with its venv module")
	}
	return python
}

// Ray returns the Python of a virtual environment with Ray and the OpenTelemetry SDK.
func Ray(t *testing.T) string {
	t.Helper()
	python := Python(t)
	if _, err := os.Stat(filepath.Join(filepath.Dir(python), "..", "ready-ray")); err != nil {
		Missing(t, "Ray", "run `make e2e`, which installs it (250 MB)")
	}
	return python
}
