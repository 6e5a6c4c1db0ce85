package commands

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

var update = flag.Bool("update", false, "write the golden texts anew")

// result is how a command ended.
type result struct {
	stdout, stderr string
	code           int
}

// run runs bin/runspan in a folder.
func run(t *testing.T, dir string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, harness.CommandLine(t), args...)
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	require.NoError(t, ctx.Err())
	r := result{stdout: stdout.String(), stderr: stderr.String()}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		r.code = exit.ExitCode()
	} else {
		require.NoError(t, err)
	}
	return r
}

// transcript is a golden text: commands, and what they printed.
type transcript struct {
	dir  string
	text strings.Builder
}

// run runs a command and writes down what it says.
func (tr *transcript) run(t *testing.T, args ...string) {
	t.Helper()
	r := run(t, tr.dir, args...)
	fmt.Fprintf(&tr.text, "$ runspan %s\n%s", strings.Join(args, " "), r.stdout)
	for line := range strings.Lines(r.stderr) {
		fmt.Fprintf(&tr.text, "stderr: %s", line)
	}
	fmt.Fprintf(&tr.text, "exit code %d\n\n", r.code)
}

// note writes down what happens between two commands.
func (tr *transcript) note(text string) { fmt.Fprintf(&tr.text, "# %s\n", text) }

// requireGolden compares the transcript with testdata/NAME.txt.
func (tr *transcript) requireGolden(t *testing.T, name string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(tr.text.String()), 0o600))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), tr.text.String(), "`go test ./test/e2e/commands -update` writes %s anew", path)
}
