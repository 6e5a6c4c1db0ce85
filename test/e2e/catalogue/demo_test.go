package catalogue

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
	"github.com/runspan/runspan/test/simulation"
)

// buildDemo makes the program behind `make demo`.
func buildDemo(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "demo")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./test/demo")
	build.Dir = harness.Root(t)
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// demoCommand is the demo on addresses of the test, in the order of RUNSPAN_OTLP_GRPC, RUNSPAN_OTLP_HTTP,
// RUNSPAN_VIEWER, RUNSPAN_HEALTH and RUNSPAN_METRICS.
func demoCommand(t *testing.T, program, data string, at []string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(program, "-speed", "20", "-collector", harness.Binary(t), "-data", data)
	cmd.Dir = harness.Root(t)
	cmd.Env = append(os.Environ(), "RUNSPAN_OTLP_GRPC="+at[0], "RUNSPAN_OTLP_HTTP="+at[1], "RUNSPAN_VIEWER="+at[2],
		"RUNSPAN_HEALTH="+at[3], "RUNSPAN_METRICS="+at[4], "RUNSPAN_JAEGER="+harness.FreePorts(t, 1)[0])
	return cmd
}

// output is what a program has written so far.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

func TestDemo(t *testing.T) {
	program, data, at := buildDemo(t), filepath.Join(t.TempDir(), "demo"), harness.FreePorts(t, 5)
	cmd := demoCommand(t, program, data, at)
	var out output
	cmd.Stdout = &out
	demo := harness.Start(t, cmd)
	runs := regexp.MustCompile(`run (\S+) +is (live|over)`)
	require.Eventually(t, func() bool { return strings.Count(out.String(), "is live") == 2 }, time.Minute, 20*time.Millisecond,
		"%s%s", &out, demo.Log())
	assert.Contains(t, out.String(), "http://"+at[2])
	said := runs.FindAllStringSubmatch(out.String(), -1)
	require.GreaterOrEqual(t, len(said), 4)

	t.Run("the page shows the runs", func(t *testing.T) {
		a := newAPI(t, at[2])
		page, err := a.body("/")
		require.NoError(t, err)
		assert.Contains(t, string(page), "<html")
		// The runs that are over do not depend on the clock but for their times.
		var over []simulation.Truth
		for i, killed := range []bool{false, true} {
			over = append(over, newRun(t, simulation.Settings{Seed: uint64(1 + i), Steps: 6, DriverKilled: killed}).Truth())
		}
		harness.WaitFor(t, 30*time.Second, "the runs", func() error {
			all, err := a.runs()
			if err != nil {
				return err
			}
			var r recorder
			for i, run := range said[:4] {
				assert.Contains(&r, all, run[1])
				if i >= len(over) {
					assert.True(&r, all[run[1]].Live, run[1])
					continue
				}
				var opened openedRun
				if err := a.get(&opened, "/api/run", "run", run[1]); err != nil {
					return err
				}
				assert.Equal(&r, []int{over[i].Spans, over[i].Traces, over[i].Errors}, []int{opened.Spans, opened.Traces, opened.Errors})
				assert.Equal(&r, []int{len(over[i].Orphans), len(over[i].Rootless)}, []int{opened.Missing.Orphans, opened.Missing.Rootless})
			}
			return r.err
		})
	})
	t.Run("a second one says that the ports are taken", func(t *testing.T) {
		second := demoCommand(t, program, data, at)
		text, err := second.CombinedOutput()
		require.Error(t, err)
		assert.Contains(t, string(text), at[0]+", for OTLP over gRPC, is taken")
		assert.Contains(t, string(text), "or set RUNSPAN_OTLP_GRPC to another address")
	})

	// Ctrl-C, and again: it would wait for a Jaeger that is not there.
	require.NoError(t, syscall.Kill(demo.PID(), syscall.SIGINT))
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "The collector ends.") }, endWithin, 5*time.Millisecond)
	require.NoError(t, syscall.Kill(demo.PID(), syscall.SIGINT))
	assert.Zero(t, demo.Wait(endWithin), "%s", demo.Log())
	for _, address := range at {
		l, err := net.Listen("tcp", address)
		require.NoError(t, err, "somebody still listens")
		_ = l.Close()
	}
	spans := map[string]int{}
	for _, sp := range harness.ReadTraceFile(t, filepath.Join(data, "traces.jsonl")) {
		spans[sp.Run]++
	}
	for _, run := range said[:2] {
		assert.Greater(t, spans[run[1]], 1000, "a run that is over")
	}
}

// A collector that does not start is told with the end of its log.
func TestDemoOfABrokenCollector(t *testing.T) {
	cmd := demoCommand(t, buildDemo(t), filepath.Join(t.TempDir(), "demo"), harness.FreePorts(t, 5))
	config := filepath.Join(t.TempDir(), "wrong.yaml")
	require.NoError(t, os.WriteFile(config, []byte("receivers: {nonsense: }\n"), 0o600))
	cmd.Args = append(cmd.Args, "-config", config)
	text, err := cmd.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(text), "demo: the collector: it ended.")
	assert.Contains(t, string(text), "nonsense")
}
