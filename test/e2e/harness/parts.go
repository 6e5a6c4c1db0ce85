package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Full reports whether a missing part is a failure: under `make e2e` and in CI.
func Full() bool {
	return os.Getenv("RUNSPAN_E2E") == "full" || os.Getenv("CI") == "true"
}

// Missing ends the test because a part is not there; remedy says how to get it.
func Missing(t *testing.T, part, remedy string) {
	t.Helper()
	if Full() {
		t.Fatalf("%s is missing: %s", part, remedy)
	}
	t.Skipf("%s is missing: %s", part, remedy)
}

// Root returns the top folder of the repository.
func Root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "builder-config.yaml")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no builder-config.yaml in this folder or above")
		}
		dir = parent
	}
}

// Binary returns the path of our collector: bin/otelcol-runspan, which the make targets build
// first, or the program that RUNSPAN_BIN names.
func Binary(t *testing.T) string {
	t.Helper()
	path := os.Getenv("RUNSPAN_BIN")
	if path == "" {
		path = filepath.Join(Root(t), "bin", "otelcol-runspan")
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run `make build` first", err)
	}
	return path
}

// CommandLine returns the path of the tools for trace files: bin/runspan, beside the collector.
func CommandLine(t *testing.T) string {
	t.Helper()
	path := filepath.Join(filepath.Dir(Binary(t)), "runspan")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run `make build` first", err)
	}
	return path
}

// Tool returns the path of a program that scripts/tool-build.sh NAME made; cost says how long that takes.
func Tool(t *testing.T, name, cost string) string {
	t.Helper()
	version := commandOutput(t, filepath.Join(Root(t), "internal", "tools", name),
		"go", "list", "-find", "-f", "{{.Module.Version}}", "tool")
	path := filepath.Join(Cache(t), name+"-"+version)
	if _, err := os.Stat(path); err != nil {
		Missing(t, name, "run `make e2e`, which builds it ("+cost+", once)")
	}
	return path
}

// Cache returns the folder of what is slow to build or to install.
func Cache(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("RUNSPAN_CACHE"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "runspan")
}

func commandOutput(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out))
}
