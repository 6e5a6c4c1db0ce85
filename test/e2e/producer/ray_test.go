package producer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
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

// rayWithin is how long a driver may take: 15 s on two cores, most of them for Ray's own start.
const rayWithin = 3 * time.Minute

// A real Ray: the driver starts it, its actors are processes of their own, and nobody but `runspan exec`
// tells any of them where to send.
func TestRay(t *testing.T) {
	testRay(t, "local", "{}")
}

// The cluster runs already, as on other hosts: what the driver's shell exports does not reach it. The
// driver has a runtime_env of its own, with a variable that `runspan exec` sets too.
func TestRayClusterThatRunsAlready(t *testing.T) {
	python := harness.Ray(t)
	address := harness.FreePorts(t, 1)[0]
	host, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	cmd := exec.Command(filepath.Join(filepath.Dir(python), "ray"), "start", "--head", "--block", "--num-cpus=2",
		"--node-ip-address="+host, "--port="+port, "--include-dashboard=false", "--temp-dir="+shortTempDir(t))
	cmd.Env = rayEnv()
	cluster := harness.Start(t, cmd)
	t.Cleanup(func() { cluster.Stop(20 * time.Second) })
	harness.WaitFor(t, time.Minute, "Ray's port", func() error {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			err = conn.Close()
		}
		return err
	})
	testRay(t, address, `{"OTEL_TRACES_SAMPLER_ARG": "1.0", "MINE": "x"}`)
}

func testRay(t *testing.T, address, ownEnv string) {
	t.Helper()
	python := harness.Ray(t)
	cmd := execCommand(t, "--service-name", "ray-run", "--host", "127.0.0.1", "--",
		python, filepath.Join(harness.Root(t), "test", "e2e", "producers", "raydriver.py"), address, ownEnv)
	cmd.Env = append(rayEnv(), "RAY_TMPDIR="+shortTempDir(t))
	var out bytes.Buffer
	cmd.Stdout = &out
	driver := harness.Start(t, cmd)
	require.Equal(t, 0, driver.Wait(rayWithin), driver.Log())

	run, _, file := introduced(t, driver.Log())
	var sent []harness.Span
	processes := 0
	for line := range strings.Lines(out.String()) {
		var got struct {
			harness.Span
			PIDs int
		}
		require.NoError(t, json.Unmarshal([]byte(line), &got), line)
		if got.PIDs > 0 {
			processes = got.PIDs
			continue
		}
		sent = append(sent, got.Span)
	}
	assert.Equal(t, 4, processes, "the driver and three actors")
	require.Len(t, sent, 24)
	for _, s := range sent {
		assert.Equal(t, "ray-run", s.Service)
		assert.Equal(t, run, s.Run)
	}
	harness.RequireSameSpans(t, sent, harness.ReadTraceFile(t, file))
	requireGone(t, filepath.Dir(file))
}

// rayEnv keeps Ray from telling its makers about this run, and from asking for a token of the home folder.
func rayEnv() []string {
	return append(harness.WithoutOTel(os.Environ()), "RAY_USAGE_STATS_ENABLED=0", "RAY_AUTH_MODE=disabled", "PYTHONDONTWRITEBYTECODE=1")
}

// shortTempDir is a folder for Ray's sockets, whose paths must be shorter than 107 bytes.
func shortTempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", fmt.Sprintf("ray%d-", os.Getpid())) //nolint:usetesting // t.TempDir has the name of the test in it
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
