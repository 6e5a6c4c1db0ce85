package e2e

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/runspan/runspan/test/e2e/harness"
)

// Whoever wants one more component edits the manifest and runs a stock `ocb`. The result holds what
// our binary holds, component by component and version by version.
func TestStockBuilderMakesTheSameDistribution(t *testing.T) {
	root := harness.Root(t)
	build := exec.CommandContext(t.Context(), "go", "tool", "-modfile", filepath.Join("internal", "tools", "go.mod"),
		"builder", "--config", "builder-config.yaml")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	components := func(binary string) string {
		out, err := exec.CommandContext(t.Context(), binary, "components").Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	ours, stock := components(harness.Binary(t)), components(filepath.Join(root, "build", "collector", "otelcol-runspan"))
	if ours != stock {
		t.Fatalf("ours:\n%s\nocb's:\n%s", ours, stock)
	}
	for _, must := range []string{"name: run_id", "name: otlp_grpc", "name: file_storage", "scheme: addr"} {
		if !strings.Contains(ours, must) {
			t.Errorf("the distribution has no %q", must)
		}
	}
}

func TestBinary_PrintsItsRelease(t *testing.T) {
	manifest, err := os.ReadFile(filepath.Join(harness.Root(t), "builder-config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^  version: (\S+)$`).FindSubmatch(manifest)
	out, err := exec.CommandContext(t.Context(), harness.Binary(t), "--version").Output()
	if err != nil || version == nil {
		t.Fatal(err, version)
	}
	if want := "otelcol-runspan version " + string(version[1]); strings.TrimSpace(string(out)) != want {
		t.Fatalf("%q, want %q", out, want)
	}
}

// An image made from scratch holds no dynamic linker and no libraries.
func TestBinary_IsStatic(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has ELF files")
	}
	f, err := elf.Open(harness.Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Fatal("the binary asks for a dynamic linker")
		}
	}
}
