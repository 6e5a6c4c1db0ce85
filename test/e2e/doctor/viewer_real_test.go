package doctor

import (
	"net"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/runspan/runspan/test/e2e/harness"
)

// A real viewer, of the collector's file and of another one.
func TestViewer(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{})
	view := func(file string) string {
		address := harness.FreePorts(t, 1)[0]
		_, port, _ := net.SplitHostPort(address)
		harness.Start(t, exec.Command(harness.CommandLine(t), "view", "--trace-jsonl", file, "--port", port, "--cache", ""))
		harness.WaitFor(t, 10*time.Second, "the viewer", func() error {
			conn, err := net.Dial("tcp", address)
			if err == nil {
				conn.Close()
			}
			return err
		})
		return "http://" + address
	}
	own, other := view(c.TraceFile()), view(filepath.Join(t.TempDir(), "other.jsonl"))

	r := diagnose(t, "--endpoint", "http://"+c.GRPC, "--trace-jsonl", c.TraceFile(), "--viewer", own)
	requireWell(t, r)
	assert.Equal(t, "ok", r.states()["viewer"])
	assert.Equal(t, "ok", r.states()["clock"], "by the viewer's answers")
	r = diagnose(t, "--endpoint", "http://"+c.GRPC, "--viewer", other, "--timeout", "1s")
	requireFinding(t, r, "viewer-without-run", 21, "waiting for ")
}
