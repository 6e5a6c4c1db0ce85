package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/runspan/runspan/test/e2e/harness"
)

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// commandsOf returns the shell commands of a README, comments removed.
func commandsOf(t *testing.T, readme string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(harness.Root(t), readme))
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, m := range shellBlock.FindAllStringSubmatch(string(text), -1) {
		var lines []string
		for line := range strings.Lines(m[1]) {
			command, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  #")
			lines = append(lines, strings.TrimRight(command, " "))
		}
		blocks = append(blocks, strings.Join(lines, "\n"))
	}
	return blocks
}

// The commands of "See a first trace" do what the README says, typed as they stand there.
func TestReadmeFirstTrace(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{})
	out := typeCommand(t, "/v1/traces", "127.0.0.1:4318", c.HTTP, filepath.Dir(c.Data)) // the README's data folder is ./data
	want := []harness.Span{{
		TraceID: "5b8efff798038103d269b633813fc60c", SpanID: "eee19b7ec3c1b174", Name: "hello",
		Service: "hello", Run: "my-first-run",
	}}
	harness.RequireSameSpans(t, want, harness.ReadTraceFile(t, c.TraceFile()))
	if !strings.Contains(out, `"resourceSpans"`) {
		t.Fatalf("the commands did not show the line of the file: %s", out)
	}
}

// The search of "See a first trace" finds it in a Jaeger.
func TestReadmeSearch(t *testing.T) {
	j := harness.StartJaeger(t)
	c := harness.StartCollector(t, harness.CollectorSettings{Jaeger: j.OTLP})
	typeCommand(t, "/v1/traces", "127.0.0.1:4318", c.HTTP, filepath.Dir(c.Data))
	harness.WaitFor(t, 30*time.Second, "the trace in Jaeger", func() error {
		if out := typeCommand(t, "/api/traces", "127.0.0.1:16686", j.Query, c.Data); !strings.Contains(out, "eee19b7ec3c1b174") {
			return errors.New(out)
		}
		return nil
	})
}

// The doctor of "Point your processes at it" finds nothing wrong with what `make run` starts.
func TestReadmeDoctor(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{})
	dir := filepath.Dir(c.Data)
	if err := os.Symlink(filepath.Dir(harness.CommandLine(t)), filepath.Join(dir, "bin")); err != nil {
		t.Fatal(err)
	}
	out := typeCommand(t, "runspan doctor", "127.0.0.1:4317", c.GRPC, dir)
	if !strings.Contains(out, "all is well") {
		t.Fatal(out)
	}
}

// typeCommand runs the command of README.md that holds the given text, in a folder and with another
// address, and returns its output.
func typeCommand(t *testing.T, holds, address, instead, dir string) string {
	t.Helper()
	for _, command := range commandsOf(t, "README.md") {
		if !strings.Contains(command, holds) {
			continue
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(command, address, instead))
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	t.Fatalf("README.md has no command with %s", holds)
	return ""
}
