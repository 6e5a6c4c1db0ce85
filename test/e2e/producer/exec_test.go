package producer

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

// execCommand is `runspan exec` with arguments, in a folder of its own.
func execCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(harness.CommandLine(t), append([]string{"exec"}, args...)...)
	cmd.Dir = t.TempDir()
	cmd.Env = harness.WithoutOTel(os.Environ())
	return cmd
}

var introduction = regexp.MustCompile(`(?m)^runspan: run\.id (\S+): spans go to (http://\S+) and into (\S+?)(?:; viewer: (\S+))?$`)

// introduced returns what `runspan exec` says of its run, which it does once.
func introduced(t *testing.T, log string) (run, endpoint, file string) {
	t.Helper()
	found := introduction.FindAllStringSubmatch(log, -1)
	require.Len(t, found, 1, log)
	return found[0][1], found[0][2], found[0][3]
}

// runExec runs a command line to its end.
func runExec(t *testing.T, cmd *exec.Cmd) (code int, stdout, log string) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout = &out
	p := harness.Start(t, cmd)
	code = p.Wait(roleWithin)
	return code, out.String(), p.Log()
}

// requireGone checks that no collector is left that writes below a folder.
func requireGone(t *testing.T, folder string) {
	t.Helper()
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, path := range commands {
		if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte(folder)) {
			t.Errorf("left over: %s %q", path, text)
		}
	}
}
