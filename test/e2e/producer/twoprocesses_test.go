package producer

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/producer"
	"github.com/runspan/runspan/test/e2e/harness"
)

// roleWithin is how long a role may run.
const roleWithin = 60 * time.Second

// roleCommand is this test binary as one of its programs.
func roleCommand(t *testing.T, role string, cfg producer.Config) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(cfg)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(harness.WithoutOTel(os.Environ()), roleVariable+"="+role, configVariable+"="+string(text))
	return cmd
}

// runRole runs a program to its end and returns what it reports last.
func runRole(t *testing.T, cmd *exec.Cmd) report {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout = &out
	p := harness.Start(t, cmd)
	require.Equal(t, 0, p.Wait(roleWithin), p.Log())
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	var r report
	require.NoError(t, json.Unmarshal(lines[len(lines)-1], &r), out.String())
	return r
}

// localConfig is that of a program which starts a collector of its own.
func localConfig(t *testing.T) producer.Config {
	t.Helper()
	return producer.Config{
		Enabled: true, ServiceName: "control-plane", LocalCollector: true,
		Local: producer.Local{Binary: harness.Binary(t), OutputDir: t.TempDir(), Host: "127.0.0.1"},
	}
}

// A control plane and its agent, two processes: one trace, from the request through a message to the
// work, in the file of the local collector.
func TestOneTraceThroughTwoProcesses(t *testing.T) {
	for _, protocol := range []producer.Protocol{producer.ProtocolGRPC, producer.ProtocolHTTP} {
		t.Run(string(protocol), func(t *testing.T) {
			cfg := localConfig(t)
			cfg.Protocol = protocol
			r := runRole(t, roleCommand(t, "control-plane", cfg))
			assert.Equal(t, producer.ModeLocal, r.Mode)
			assert.Regexp(t, `^\d{8}-\d{6}-\d+-[0-9a-f]{8}$`, r.RunID)
			assert.Equal(t, filepath.Join(cfg.Local.OutputDir, r.RunID, "traces", "traces.jsonl"), r.File)
			requireChain(t, harness.ReadTraceFile(t, r.File), r.RunID)
		})
	}
}

// The same with a collector that runs already, told by the environment.
func TestOneTraceWithAnExternalCollector(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{})
	cmd := roleCommand(t, "control-plane", producer.Config{Enabled: true, ServiceName: "control-plane", LocalCollector: true, RunID: "run 7"})
	cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+c.GRPC)
	r := runRole(t, cmd)
	assert.Equal(t, producer.ModeExternal, r.Mode)
	requireChain(t, harness.ReadTraceFile(t, c.TraceFile()), "run 7")
	select {
	case <-c.Ended():
		t.Fatal("the program stopped a collector that it had not started")
	default:
	}
}

// The sidecar of docs/producers.md hands on what a program sends to its own loopback address.
func TestDocumentedSidecar(t *testing.T) {
	c := harness.StartCollector(t, harness.CollectorSettings{})
	doc, err := os.ReadFile(filepath.Join(harness.Root(t), "docs", "producers.md"))
	require.NoError(t, err)
	config := filepath.Join(t.TempDir(), "sidecar.yaml")
	block := regexp.MustCompile("(?s)  ```yaml\n(.*?)  ```").FindSubmatch(doc)
	require.NotNil(t, block)
	require.NoError(t, os.WriteFile(config, block[1], 0o600))
	address := harness.FreePorts(t, 1)[0]
	sidecar := exec.Command(harness.Binary(t), "--config", config)
	sidecar.Env = append(os.Environ(), "RUNSPAN_OTLP_GRPC="+address, "RUNSPAN_FORWARD="+c.GRPC)
	p := harness.Start(t, sidecar)
	harness.WaitFor(t, roleWithin, "the sidecar", func() error {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			err = conn.Close()
		}
		return err
	})
	r := runRole(t, roleCommand(t, "control-plane", producer.Config{Enabled: true, ServiceName: "control-plane", Endpoint: "http://" + address}))
	require.Equal(t, 0, p.Stop(20*time.Second), "what it took, it sends on")
	requireChain(t, harness.ReadTraceFile(t, c.TraceFile()), r.RunID)
}

func requireChain(t *testing.T, spans []harness.Span, run string) {
	t.Helper()
	require.Len(t, spans, 3)
	byName := map[string]harness.Span{}
	for _, s := range spans {
		byName[s.Name] = s
		assert.Equal(t, run, s.Run)
		assert.Equal(t, spans[0].TraceID, s.TraceID)
	}
	request, dispatch, work := byName["request"], byName["dispatch"], byName["generate"]
	assert.Empty(t, request.Parent)
	assert.Equal(t, request.SpanID, dispatch.Parent)
	assert.Equal(t, dispatch.SpanID, work.Parent)
	assert.Equal(t, []string{"control-plane", "control-plane", "agent"}, []string{request.Service, dispatch.Service, work.Service})
	// The agent ends and flushes first: its work is in the file before what waited for it.
	assert.Equal(t, "generate", spans[0].Name)
}

// Off: the program works as before, and nothing is carried or started.
func TestOffCarriesNothing(t *testing.T) {
	r := runRole(t, roleCommand(t, "control-plane", producer.Config{}))
	assert.Equal(t, report{Mode: producer.ModeOff, Took: r.Took}, r)
}
