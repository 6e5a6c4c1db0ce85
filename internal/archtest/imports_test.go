package archtest

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/runspan/runspan/"

// mayImport says, for each part of the repository, which other parts its non-test files may
// import. Imports run downwards only; what a line does not list is forbidden.
//
//	cmd -> internal/cli, components -> internal/viewer -> internal/runindex -> internal/tracefile -> internal/runid
//	internal/cli -> internal/doctor -> internal/tracefile -> internal/runid
//	internal/doctor, producer -> internal/container
var mayImport = map[string][]string{
	"cmd/otelcol-runspan": {"runidprocessor", "components/*"},
	"cmd/runspan":         {"internal/cli"},
	"internal/cli":        {"internal/doctor", "internal/viewer", "internal/runindex", "internal/tracefile", "internal/runid", "producer"},
	"internal/doctor":     {"internal/tracefile", "internal/runid", "internal/container"},
	"internal/container":  {},
	"components/*":        {"internal/viewer", "internal/runindex", "internal/tracefile", "internal/runid"},
	"runidprocessor":      {"internal/runid"},
	"internal/viewer":     {"internal/runindex", "internal/tracefile", "internal/runid"},
	"internal/runindex":   {"internal/tracefile", "internal/runid"},
	"internal/tracefile":  {"internal/runid"},
	"producer":            {"internal/runid", "internal/container"},
	"internal/runid":      {},
	"internal/archtest":   {},
	"test/bench":          {"runidprocessor", "internal/viewer", "internal/runindex", "internal/tracefile", "internal/runid"},
	"test/demo":           {"test/simulation"},
	"test/e2e":            {},
	"test/simulation":     {},
}

func TestImportsRunDownwards(t *testing.T) {
	checked := map[string]bool{}
	walkGoFiles(t, "../..", func(file string) {
		part := partOf(path.Dir(file))
		allowed, known := mayImport[pattern(part)]
		if !known {
			t.Errorf("%s: %q is in no line of mayImport: say what it may import", file, part)
			return
		}
		checked[pattern(part)] = true
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		for _, imported := range importsOf(t, filepath.Join("../..", file)) {
			rel, ours := strings.CutPrefix(imported, module)
			if !ours || partOf(rel) == part {
				continue
			}
			if !slices.Contains(allowed, pattern(partOf(rel))) {
				t.Errorf("%s imports %s: %s may import only %v", file, rel, part, allowed)
			}
		}
	})
	// The test itself could break by walking the wrong folder.
	for _, must := range []string{"cmd/otelcol-runspan", "runidprocessor", "internal/runid"} {
		if !checked[must] {
			t.Errorf("no file of %s was checked", must)
		}
	}
}

// internal/runid and internal/container are what a producer links: the standard library and nothing else.
func TestLowestImportTheStandardLibraryOnly(t *testing.T) {
	walkGoFiles(t, "../..", func(file string) {
		part := partOf(path.Dir(file))
		if part != "internal/runid" && part != "internal/container" || strings.HasSuffix(file, "_test.go") {
			return
		}
		for _, imported := range importsOf(t, filepath.Join("../..", file)) {
			if first, _, _ := strings.Cut(imported, "/"); strings.Contains(first, ".") {
				t.Errorf("%s imports %s", file, imported)
			}
		}
	})
}

// A producer stays light: nothing of a collector comes with it, by whatever way.
func TestProducerLinksNoCollector(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "./producer")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(out))
	if !slices.Contains(linked, "go.opentelemetry.io/otel/sdk/trace") {
		t.Fatalf("that is not what producer links: %v", linked)
	}
	for _, name := range linked {
		if strings.HasPrefix(name, "go.opentelemetry.io/collector") || strings.Contains(name, "/opentelemetry-collector-contrib/") {
			t.Errorf("producer links %s", name)
		}
	}
}

// partOf returns the part of the repository that a folder belongs to.
func partOf(dir string) string {
	names := strings.Split(dir, "/")
	switch names[0] {
	case "cmd", "components", "internal", "test":
		return strings.Join(names[:min(2, len(names))], "/")
	default:
		return names[0]
	}
}

// pattern returns the line of mayImport for a part: the components share one.
func pattern(part string) string {
	if strings.HasPrefix(part, "components/") {
		return "components/*"
	}
	return part
}

func walkGoFiles(t *testing.T, root string, visit func(file string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() && (rel == "build" || rel == "data" || rel == "internal/tools" || d.Name() == "testdata" ||
			rel != "." && strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if strings.HasSuffix(rel, ".go") {
			visit(rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func importsOf(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	imports := make([]string, len(parsed.Imports))
	for i, spec := range parsed.Imports {
		if imports[i], err = strconv.Unquote(spec.Path.Value); err != nil {
			t.Fatal(err)
		}
	}
	return imports
}
