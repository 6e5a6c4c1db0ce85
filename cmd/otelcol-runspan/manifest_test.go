package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"golang.org/x/mod/modfile"
)

const root = "../.."

type manifest struct {
	Dist struct {
		Version string `yaml:"version"`
	} `yaml:"dist"`
	Extensions []manifestComponent `yaml:"extensions"`
	Receivers  []manifestComponent `yaml:"receivers"`
	Processors []manifestComponent `yaml:"processors"`
	Exporters  []manifestComponent `yaml:"exporters"`
	Connectors []manifestComponent `yaml:"connectors"`
	Providers  []manifestComponent `yaml:"providers"`
	Replaces   []string            `yaml:"replaces"`
}

type manifestComponent struct {
	GoMod  string `yaml:"gomod"`
	Import string `yaml:"import"`
}

func readManifest(t *testing.T) manifest {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "builder-config.yaml"))
	require.NoError(t, err)
	var m manifest
	require.NoError(t, yaml.Unmarshal(data, &m))
	return m
}

func readGoMod(t *testing.T) *modfile.File {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	mod, err := modfile.Parse("go.mod", data, nil)
	require.NoError(t, err)
	return mod
}

// A stock `ocb` resolves versions from the manifest, `go build` from go.mod. If the two differ,
// people build another distribution from the same commit than CI has tested.
func TestManifestVersionsEqualGoMod(t *testing.T) {
	mod := readGoMod(t)
	required := map[string]string{}
	for _, r := range mod.Require {
		required[r.Mod.Path] = r.Mod.Version
	}
	m := readManifest(t)
	n := 0
	for _, list := range [][]manifestComponent{m.Extensions, m.Receivers, m.Processors, m.Exporters, m.Connectors, m.Providers} {
		for _, c := range list {
			path, version, ok := strings.Cut(c.GoMod, " ")
			require.True(t, ok, "gomod: %q holds no version", c.GoMod)
			if path == mod.Module.Mod.Path {
				dir, ours := strings.CutPrefix(c.Import, path+"/")
				require.True(t, ours, "our own module needs an import below it, not %q", c.Import)
				assert.DirExists(t, filepath.Join(root, dir))
				continue
			}
			assert.Equal(t, required[path], version, "%s: the left is go.mod's, the right the manifest's", path)
			n++
		}
	}
	assert.Greater(t, n, 20, "the manifest was not read")
}

// `go install github.com/runspan/runspan/...` refuses a module with replace lines.
func TestGoModHasNoReplace(t *testing.T) {
	assert.Empty(t, readGoMod(t).Replace)
}

// The manifest's own replace line is how ocb finds this checkout; it is relative to output_path.
func TestManifestReplacesOnlyThisModule(t *testing.T) {
	assert.Equal(t, []string{"github.com/runspan/runspan => ../.."}, readManifest(t).Replaces)
}
