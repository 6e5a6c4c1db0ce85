package producer

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
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

// What a command gets and gives is its own: streams, arguments, exit code.
func TestExecPassesThrough(t *testing.T) {
	notExecutable := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.WriteFile(notExecutable, nil, 0o600))
	for _, tc := range []struct {
		name    string
		command []string
		stdin   string
		code    int
		stdout  string
		says    string
	}{
		{name: "streams", command: []string{"cat", "-"}, stdin: "in\n", stdout: "in\n"},
		{name: "flags of its own", command: []string{"echo", "--json", "--run-id", "--", "x"}, stdout: "--json --run-id -- x\n"},
		{name: "exit code", command: []string{"sh", "-c", "exit 7"}, code: 7},
		{name: "exit code 2", command: []string{"sh", "-c", "exit 2"}, code: 2},
		{name: "a signal", command: []string{"sh", "-c", "kill -KILL $$"}, code: 128 + 9},
		{name: "no such program", command: []string{"no-such-program"}, code: 127, says: "no-such-program"},
		{name: "no program", command: []string{notExecutable}, code: 126, says: "permission denied"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := execCommand(t, append([]string{"--host", "127.0.0.1", "--"}, tc.command...)...)
			cmd.Stdin = strings.NewReader(tc.stdin)
			code, stdout, log := runExec(t, cmd)
			assert.Equal(t, tc.code, code, log)
			assert.Equal(t, tc.stdout, stdout)
			if tc.says != "" {
				assert.Contains(t, log, tc.says)
				assert.NotContains(t, log, "run.id", "nothing was started")
			} else {
				_, _, file := introduced(t, log)
				assert.Equal(t, 1, strings.Count(log, "\n"), "one line: %s", log)
				assert.True(t, strings.HasPrefix(file, filepath.Join(cmd.Dir, "data")+string(filepath.Separator)), file)
				assert.FileExists(t, file)
			}
			requireGone(t, cmd.Dir)
		})
	}
}

// A program in another language, and a process below it, need nothing but their environment.
func TestExecWithPython(t *testing.T) {
	python := harness.Python(t)
	cmd := execCommand(t, "--service-name", "trainer", "--run-id", "my-run", "--host", "127.0.0.1", "--", "sh", "-c", `"$0" -c "$1"`, python, `
import subprocess, sys
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
with provider.get_tracer("t").start_as_current_span("step"):
    pass
provider.shutdown()
`)
	code, _, log := runExec(t, cmd)
	require.Equal(t, 0, code, log)
	_, _, file := introduced(t, log)
	spans := harness.ReadTraceFile(t, file)
	require.Len(t, spans, 1)
	assert.Equal(t, []string{"trainer", "my-run", "step"}, []string{spans[0].Service, spans[0].Run, spans[0].Name})
}

// Below an exec another one goes on with its run: it starts nothing.
func TestExecBelowExec(t *testing.T) {
	inner := []string{harness.CommandLine(t), "exec", "--", "sh", "-c", "echo $OTEL_RESOURCE_ATTRIBUTES $OTEL_EXPORTER_OTLP_ENDPOINT"}
	code, stdout, log := runExec(t, execCommand(t, append([]string{"--host", "127.0.0.1", "--"}, inner...)...))
	require.Equal(t, 0, code, log)
	found := introduction.FindStringSubmatch(log)
	require.NotNil(t, found, log)
	assert.Equal(t, "run.id="+found[1]+" "+found[2]+"\n", stdout)
	assert.Contains(t, log, "runspan: run.id "+found[1]+": spans go to "+found[2]+"\n", "the inner one, without a file")
}

// Flags that are wrong end it before the command; what is wrong in the environment does not keep a
// program from its work.
func TestExecWithWrongSettings(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		env  string
		code int
		says []string
	}{
		{"a viewer without a file", []string{"--view", "--endpoint", "http://h:4317"}, "", 2, []string{"--view", "--trace-jsonl"}},
		{"a file without an endpoint", []string{"--trace-jsonl", "x"}, "", 2, []string{"--trace-jsonl", "--endpoint"}},
		{"an endpoint", []string{"--endpoint", "h:4317"}, "", 2, []string{"--endpoint", "http://HOST:4317"}},
		{"an unknown flag", []string{"--endpont", "x"}, "", 2, []string{"--endpont"}},
		{"the environment", nil, "OTEL_EXPORTER_OTLP_ENDPOINT=h:4317", 0, []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "tracing off"}},
		{"the environment's run that is no folder", nil, "OTEL_RESOURCE_ATTRIBUTES=run.id=a/b", 0, []string{"OTEL_RESOURCE_ATTRIBUTES", "tracing off"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := execCommand(t, append(tc.args, "--", "sh", "-c", "echo ran $OTEL_SDK_DISABLED")...)
			cmd.Env = append(cmd.Env, tc.env)
			code, stdout, log := runExec(t, cmd)
			assert.Equal(t, tc.code, code, log)
			assert.Equal(t, map[int]string{0: "ran true\n", 2: ""}[tc.code], stdout)
			for _, says := range tc.says {
				assert.Contains(t, log, says)
			}
		})
	}
}

// Every signal that another program sends goes to the command, which decides.
func TestExecPassesSignalsOn(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{
		"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "USR1": syscall.SIGUSR1, "QUIT": syscall.SIGQUIT,
	} {
		t.Run(name, func(t *testing.T) {
			cmd := execCommand(t, "--host", "127.0.0.1", "--", "bash", "-c",
				`trap 'echo got `+name+`; exit 3' `+name+`; echo ready; while :; do sleep 0.05; done`)
			out := &lockedBuffer{}
			cmd.Stdout = out
			p := harness.Start(t, cmd)
			harness.WaitFor(t, roleWithin, "the command", func() error {
				if !strings.Contains(out.String(), "ready") {
					return errors.New("not ready")
				}
				return nil
			})
			require.NoError(t, syscall.Kill(p.PID(), signal))
			assert.Equal(t, 3, p.Wait(roleWithin), p.Log())
			assert.Equal(t, "ready\ngot "+name+"\n", out.String())
			requireGone(t, cmd.Dir)
		})
	}
}

// lockedBuffer is read while it is being written.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
