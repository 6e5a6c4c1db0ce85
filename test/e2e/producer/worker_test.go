package producer

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

// What the package promises, and a second for a busy machine.
const (
	startPromise    = 16 * time.Second
	shutdownPromise = 18 * time.Second
	flushPromise    = 6 * time.Second
	workPromise     = time.Second // of 100 spans, which take a millisecond
)

// running is a worker that makes spans when it is told to.
type running struct {
	*harness.Process
	stdin  io.WriteCloser
	stdout *bufio.Reader
}

// startWorker starts a worker and returns what it says of its start.
func startWorker(t *testing.T, cmd *exec.Cmd) (*running, report) {
	t.Helper()
	in, stdin, err := os.Pipe()
	require.NoError(t, err)
	out, stdout, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stdin, cmd.Stdout = in, stdout
	w := &running{Process: harness.Start(t, cmd), stdin: stdin, stdout: bufio.NewReader(out)}
	require.NoError(t, in.Close())
	require.NoError(t, stdout.Close())
	r := w.report(t)
	assert.Less(t, r.Took, startPromise)
	return w, r
}

func (w *running) report(t *testing.T) (r report) {
	t.Helper()
	line, err := w.stdout.ReadBytes('\n')
	require.NoError(t, err, w.Log())
	require.NoError(t, json.Unmarshal(line, &r), string(line))
	return r
}

// work makes a hundred spans of that name.
func (w *running) work(t *testing.T, name string) {
	t.Helper()
	_, err := fmt.Fprintln(w.stdin, name)
	require.NoError(t, err)
}

// end lets the worker end, which it does with code 0 whatever became of its spans, in time.
func (w *running) end(t *testing.T) report {
	t.Helper()
	require.NoError(t, w.stdin.Close())
	require.Equal(t, 0, w.Wait(roleWithin), w.Log())
	r := w.report(t)
	assert.Less(t, r.Work, workPromise, "ending a span never waits")
	assert.Less(t, r.Stopped, shutdownPromise)
	return r
}
