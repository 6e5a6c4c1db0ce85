//go:build linux

package cluster

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

// The names of the examples' renderings, which docs and values use as well.
const (
	release   = "runspan"
	namespace = "tracing"
)

func chartDir(t *testing.T) string {
	t.Helper()
	return filepath.Join(harness.Root(t), "charts", "runspan")
}

// cases returns the names of the chart's examples.
func cases(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(chartDir(t), "examples", "*", "values.yaml"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(found), 7, "examples")
	for i, path := range found {
		found[i] = filepath.Base(filepath.Dir(path))
	}
	return found
}

func valuesOf(t *testing.T, example string) string {
	t.Helper()
	return filepath.Join(chartDir(t), "examples", example, "values.yaml")
}

// helm runs helm, with what it keeps in a folder of the test, and returns its output and its error's text.
func helm(t *testing.T, args ...string) (out, complaint string, err error) {
	t.Helper()
	return helmInput(t, "", args...)
}

func helmInput(t *testing.T, input string, args ...string) (out, complaint string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), harness.Tool(t, "helm", "4 minutes"), args...)
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+home, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	cmd.Stdin = strings.NewReader(input)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// render renders the chart with values as YAML text, as scripts/chart.sh does.
func render(t *testing.T, values string) []byte {
	t.Helper()
	out, complaint, err := tryRender(t, values)
	require.NoError(t, err, complaint)
	return []byte(out)
}

func tryRender(t *testing.T, values string) (out, complaint string, err error) {
	t.Helper()
	return helmInput(t, values, "template", release, chartDir(t), "--namespace", namespace, "--values", "-")
}

// renderExample renders one of the examples.
func renderExample(t *testing.T, example string) []byte {
	t.Helper()
	values, err := os.ReadFile(valuesOf(t, example))
	require.NoError(t, err)
	return render(t, string(values))
}
