package release

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

// TestRelease makes a release for this platform, twice: its archive holds programs that run, its checksums
// are right, the SBOMs name what is in the programs, and the second is the first.
func TestRelease(t *testing.T) {
	harness.Tool(t, "helm", "4 minutes")
	harness.Tool(t, "cyclonedx-gomod", "1 minute")
	dist := makeRelease(t)
	version := strings.TrimSpace(output(t, filepath.Join(harness.Root(t), "scripts", "version.sh")))
	name := "runspan_" + version + "_" + runtime.GOOS + "_" + runtime.GOARCH

	sums := checksums(t, dist)
	require.Contains(t, sums, name+".tar.gz")
	require.Contains(t, sums, "runspan-"+version+".tgz", "the chart")
	for file, sum := range sums {
		data, err := os.ReadFile(filepath.Join(dist, file))
		require.NoError(t, err)
		got := sha256.Sum256(data)
		require.Equal(t, sum, hex.EncodeToString(got[:]), file)
	}

	dir := t.TempDir()
	unpack(t, filepath.Join(dist, name+".tar.gz"), dir)
	dir = filepath.Join(dir, name)
	require.FileExists(t, filepath.Join(dir, "LICENSE"))
	require.Contains(t, output(t, filepath.Join(dir, "otelcol-runspan"), "--version"), version)
	require.Contains(t, output(t, filepath.Join(dir, "runspan"), "--version"), version)
	output(t, filepath.Join(dir, "otelcol-runspan"), "validate", "--config", filepath.Join(dir, "configs", "local.yaml"))

	for _, program := range []string{"otelcol-runspan", "runspan"} {
		file := program + strings.TrimPrefix(name, "runspan") + ".cdx.json"
		require.Contains(t, sums, file)
		require.Equal(t, modules(t, filepath.Join(dir, program)), listed(t, filepath.Join(dist, file)), file)
	}
	notes, err := os.ReadFile(filepath.Join(dist, "notes.md"))
	require.NoError(t, err)
	require.Contains(t, string(notes), "### Added")
	require.NotContains(t, string(notes), "\n## ")

	again := checksums(t, makeRelease(t))
	for file, sum := range sums {
		if !strings.HasSuffix(file, ".tgz") { // helm writes the time into the chart's
			require.Equal(t, sum, again[file], file)
		}
	}
}

func makeRelease(t *testing.T) string {
	t.Helper()
	dist := filepath.Join(t.TempDir(), "dist")
	cmd := exec.CommandContext(t.Context(), filepath.Join(harness.Root(t), "scripts", "release.sh"))
	cmd.Env = append(os.Environ(), "DIST="+dist, "RELEASE_PLATFORMS="+runtime.GOOS+"/"+runtime.GOARCH)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return dist
}

func checksums(t *testing.T, dist string) map[string]string {
	t.Helper()
	f, err := os.Open(filepath.Join(dist, "checksums.txt"))
	require.NoError(t, err)
	defer f.Close()
	sums := map[string]string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		sum, file, ok := strings.Cut(lines.Text(), "  ")
		require.True(t, ok, lines.Text())
		sums[file] = sum
	}
	require.NoError(t, lines.Err())
	return sums
}

func unpack(t *testing.T, archive, into string) {
	t.Helper()
	f, err := os.Open(archive)
	require.NoError(t, err)
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	require.NoError(t, err)
	for files := tar.NewReader(unzipped); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		require.True(t, filepath.IsLocal(header.Name), header.Name)
		path := filepath.Join(into, header.Name)
		if header.Typeflag == tar.TypeDir {
			require.NoError(t, os.MkdirAll(path, 0o755))
			continue
		}
		require.EqualValues(t, tar.TypeReg, header.Typeflag, header.Name)
		data, err := io.ReadAll(files)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, data, header.FileInfo().Mode()))
	}
}

// modules returns the modules that a program says it is made of, as name@version.
func modules(t *testing.T, program string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for line := range strings.Lines(output(t, "go", "version", "-m", program)) {
		if fields := strings.Fields(line); len(fields) >= 3 && fields[0] == "dep" {
			found[fields[1]+"@"+fields[2]] = true
		}
	}
	require.NotEmpty(t, found)
	return found
}

// listed returns the modules of an SBOM, without Go's standard library.
func listed(t *testing.T, sbom string) map[string]bool {
	t.Helper()
	data, err := os.ReadFile(sbom)
	require.NoError(t, err)
	var list struct {
		BOMFormat  string
		Components []struct{ Name, Version string }
	}
	require.NoError(t, json.Unmarshal(data, &list))
	require.Equal(t, "CycloneDX", list.BOMFormat)
	found := map[string]bool{}
	for _, c := range list.Components {
		if c.Name != "std" {
			found[c.Name+"@"+c.Version] = true
		}
	}
	return found
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	require.NoErrorf(t, err, "%s %s: %s", name, strings.Join(args, " "), out)
	return string(out)
}
