package producer

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/producer"
	"github.com/runspan/runspan/test/e2e/harness"
)

// collectorBelow finds the process id of the local collector that writes a file.
func collectorBelow(t *testing.T, file string) int {
	t.Helper()
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, path := range commands {
		if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte(file)) {
			pid, err := strconv.Atoi(strings.Split(path, "/")[2])
			require.NoError(t, err)
			return pid
		}
	}
	t.Fatalf("no process writes %s", file)
	return 0
}

// The collector is killed: the program hears of it at once, works on, and ends with code 0.
func TestLocalCollectorKilled(t *testing.T) {
	w, r := startWorker(t, roleCommand(t, "worker", localConfig(t)))
	require.Equal(t, producer.ModeLocal, r.Mode)
	w.work(t, "before")
	harness.WaitFor(t, roleWithin, "the spans before", func() error {
		if data, err := os.ReadFile(r.File); err != nil || bytes.Count(data, []byte(`"name":"before"`)) < 100 {
			return fmt.Errorf("%d bytes: %w", len(data), err)
		}
		return nil
	})
	require.NoError(t, syscall.Kill(collectorBelow(t, r.File), syscall.SIGKILL))
	harness.WaitFor(t, roleWithin, "the message", func() error {
		if !strings.Contains(w.Log(), "spans of this run are lost from now on") {
			return fmt.Errorf("%s", w.Log())
		}
		return nil
	})
	assert.Contains(t, w.Log(), "signal: killed")
	assert.Contains(t, w.Log(), r.RunID)
	w.work(t, "after")
	last := w.end(t)
	assert.Contains(t, last.Shutdown, "ended before its time: signal: killed")
	assert.Len(t, harness.ReadTraceFile(t, r.File), 100)
}

// The program is killed: its collector ends by itself, with everything that it took in the file.
func TestLocalCollectorEndsWithItsProgram(t *testing.T) {
	w, r := startWorker(t, roleCommand(t, "worker", localConfig(t)))
	pid := collectorBelow(t, r.File)
	require.NoError(t, syscall.Kill(w.PID(), syscall.SIGKILL))
	harness.WaitFor(t, 20*time.Second, "the collector's end", func() error {
		if syscall.Kill(pid, 0) == nil {
			if state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && !bytes.Contains(state, []byte(") Z ")) {
				return fmt.Errorf("%d is there", pid)
			}
		}
		return nil
	})
}

// What keeps the local collector from starting is said, with the remedy or the end of its log; the
// program goes on with tracing off, also as a command of `runspan exec`.
func TestLocalCollectorDoesNotStart(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken")
	require.NoError(t, os.WriteFile(broken, []byte("#!/bin/sh\necho 'a library is missing' >&2\nexit 3\n"), 0o700))
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	full := harness.MountTmpfs(t, "size=64k,nr_inodes=2") // the folder itself and one below it
	for _, tc := range []struct {
		name string
		set  func(*producer.Local)
		flag []string
		says []string
		exec []string // instead of says
	}{
		{
			name: "the binary is missing", set: func(l *producer.Local) { l.Binary = "/nowhere/otelcol-runspan" },
			flag: []string{"--collector", "/nowhere/otelcol-runspan"}, says: []string{"Local.Binary", "/nowhere/otelcol-runspan"}, exec: []string{"--collector"},
		},
		{
			name: "the binary is broken", set: func(l *producer.Local) { l.Binary = broken },
			flag: []string{"--collector", broken}, says: []string{"exit status 3", "a library is missing"},
		},
		{
			name: "the port is taken", set: func(l *producer.Local) { l.GRPCPort = port },
			flag: []string{"--grpc-port", strconv.Itoa(port)}, says: []string{"address already in use", strconv.Itoa(port)},
		},
		{
			name: "the folder is a file", set: func(l *producer.Local) { l.OutputDir = file },
			flag: []string{"--output-dir", file}, says: []string{"Local.OutputDir", "not a directory"}, exec: []string{"--output-dir", "not a directory"},
		},
		{
			name: "the disk is full", set: func(l *producer.Local) { l.OutputDir = full },
			flag: []string{"--output-dir", full}, says: []string{"no space left on device"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := localConfig(t)
			tc.set(&cfg.Local)
			w, r := startWorker(t, roleCommand(t, "worker", cfg))
			assert.Equal(t, producer.ModeOff, r.Mode)
			for _, says := range tc.says {
				assert.Contains(t, r.Error, says)
			}
			w.work(t, "untraced")
			w.end(t)

			cmd := execCommand(t, append(tc.flag, "--host", "127.0.0.1", "--", "sh", "-c", "echo ran $OTEL_SDK_DISABLED")...)
			code, stdout, log := runExec(t, cmd)
			assert.Equal(t, 0, code, log)
			assert.Equal(t, "ran true\n", stdout)
			if tc.exec == nil {
				tc.exec = tc.says
			}
			for _, says := range append(tc.exec, "the command runs with tracing off") {
				assert.Contains(t, log, says)
			}
		})
	}
}

// The disk fills while the program works: the collector's own word for it reaches the program's log.
func TestDiskFullInTheMiddle(t *testing.T) {
	cfg := localConfig(t)
	cfg.Local.OutputDir = harness.MountTmpfs(t, "size=128k")
	w, r := startWorker(t, roleCommand(t, "worker", cfg))
	require.Equal(t, producer.ModeLocal, r.Mode)
	filler, err := os.Create(filepath.Join(cfg.Local.OutputDir, "filler"))
	require.NoError(t, err)
	for err == nil {
		_, err = filler.Write(make([]byte, 1024))
	}
	require.NoError(t, filler.Close())
	w.work(t, "too much")
	harness.WaitFor(t, roleWithin, "the message", func() error {
		if !strings.Contains(w.Log(), "no space left on device") {
			return fmt.Errorf("%s", w.Log())
		}
		return nil
	})
	w.end(t)
}

// An external endpoint that is not there, that takes connections and says nothing, or that is no
// collector: one message, and neither a span nor the end of the program waits beyond the promise.
func TestExternalEndpointIsWrong(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { silent.Close() }) // after the parallel tests
	c := harness.StartCollector(t, harness.CollectorSettings{})
	for _, tc := range []struct {
		name     string
		endpoint string
		protocol producer.Protocol
		says     string
	}{
		{"nobody listens", "http://" + harness.FreePorts(t, 1)[0], producer.ProtocolGRPC, "connection refused"},
		{"nobody listens, HTTP", "http://" + harness.FreePorts(t, 1)[0], producer.ProtocolHTTP, "connection refused"},
		{"it hangs", "http://" + silent.Addr().String(), producer.ProtocolGRPC, ""},
		{"it hangs, HTTP", "http://" + silent.Addr().String(), producer.ProtocolHTTP, ""},
		{"gRPC on the HTTP port", "http://" + c.HTTP, producer.ProtocolGRPC, ""},
		{"HTTP on the gRPC port", "http://" + c.GRPC, producer.ProtocolHTTP, ""},
		{"a wrong path", "http://" + c.HTTP + "/nothing", producer.ProtocolHTTP, "404"},
		{"TLS against plain text", "https://" + c.GRPC, producer.ProtocolGRPC, ""},
		{"a name that does not resolve", "http://nowhere.invalid:4317", producer.ProtocolGRPC, "nowhere.invalid"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w, r := startWorker(t, roleCommand(t, "worker", producer.Config{Enabled: true, Endpoint: tc.endpoint, Protocol: tc.protocol}))
			require.Empty(t, r.Error)
			assert.Less(t, r.Took, 2*time.Second, "it is not asked whether it is there")
			w.work(t, "lost")
			harness.WaitFor(t, roleWithin, "the message", func() error {
				if !strings.Contains(w.Log(), "spans are not delivered") {
					return fmt.Errorf("%s", w.Log())
				}
				return nil
			})
			assert.Contains(t, w.Log(), tc.endpoint)
			assert.Contains(t, w.Log(), tc.says)
			w.work(t, "lost too")
			last := w.end(t)
			assert.Less(t, last.Stopped, flushPromise)
			assert.Equal(t, 1, strings.Count(w.Log(), "spans are not delivered"), w.Log())
		})
	}
}
