package producer

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// script writes a program.
func script(t *testing.T, lines string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+lines), 0o700))
	return path
}

// A collector that never becomes ready is stopped when the time or the context ends, and the end of its
// log is in the error.
func TestCollectorThatIsNeverReady(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	dir := t.TempDir()
	pid := filepath.Join(dir, "pid")
	rt, err := Start(ctx, Config{
		Enabled: true, LocalCollector: true,
		Local: Local{OutputDir: dir, Host: "127.0.0.1", Binary: script(t, "echo $$ > "+pid+"\necho waiting for a license >&2\nexec sleep 60\n")},
	})
	require.ErrorContains(t, err, "was not ready in time")
	require.ErrorContains(t, err, "waiting for a license")
	assert.Equal(t, ModeOff, rt.Mode())
	assert.Empty(t, rt.Env())
	text, err := os.ReadFile(pid)
	require.NoError(t, err)
	var id int
	_, err = fmt.Sscan(string(text), &id)
	require.NoError(t, err)
	assert.ErrorIs(t, syscall.Kill(id, 0), syscall.ESRCH, "it is gone")
}

// A child that does not end when it is asked to is killed.
func TestStopKills(t *testing.T) {
	c, err := startChild("a child", exec.Command("sh", "-c", "trap '' TERM; echo ready >&2; while :; do sleep 0.01; done"), nil)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return c.log.String() == "ready" }, 10*time.Second, time.Millisecond)
	require.ErrorContains(t, c.stop(50*time.Millisecond), "a child did not end within 50ms of SIGTERM and was killed")
	assert.True(t, c.ended())
	assert.NoError(t, c.stop(time.Second), "a second time")
}

func TestLogTail(t *testing.T) {
	var lines []string
	l := &logTail{line: func(line string) { lines = append(lines, line) }}
	for i := range 30 {
		_, _ = fmt.Fprintf(l, "line %d\nhalf ", i)
	}
	assert.Len(t, lines, 30)
	assert.Equal(t, 20, strings.Count(l.String(), "\n")+1)
	l.flush()
	assert.True(t, strings.HasSuffix(l.String(), "half line 29\nhalf "), l.String())
	_, _ = fmt.Fprint(l, strings.Repeat("x", 100<<10))
	assert.Less(t, len(l.part), 64<<10, "a line without an end is cut")
}

func TestProgram(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	_, err := program("Local.Binary", "", "otelcol-nowhere")
	require.ErrorContains(t, err, "producer: Local.Binary: otelcol-nowhere is not beside this program, nor in PATH")
	path := filepath.Join(dir, "otelcol-nowhere")
	require.NoError(t, os.WriteFile(path, nil, 0o700))
	got, err := program("Local.Binary", "", "otelcol-nowhere")
	require.NoError(t, err)
	assert.Equal(t, path, got)
	_, err = program("Local.Binary", filepath.Join(dir, "other"), "otelcol-nowhere")
	require.ErrorContains(t, err, "producer: Local.Binary: ")
	assert.NotErrorAs(t, err, new(*SettingError), "it is this host that lacks something")
}

func TestNewRunID(t *testing.T) {
	id := NewRunID()
	assert.Regexp(t, `^[0-9]{8}-[0-9]{6}-[0-9]+-[0-9a-f]{8}$`, id)
	assert.NotEqual(t, id, NewRunID())
	require.NoError(t, checkRunID(NewRunID(), "RunID"))
	require.NoError(t, checkFolderName(NewRunID(), "RunID"))
}

// What the collector says of its work is passed on, what it says at its start is not.
func TestCollectorLog(t *testing.T) {
	var out strings.Builder
	ready := make(chan struct{})
	line := collectorLog(slog.New(slog.NewTextHandler(&out, nil)), ready)
	line(`{"level":"warn","msg":"at the start"}`)
	line(`no JSON`)
	line(`{"level":"info","msg":"Everything is ready. Begin running and processing data."}`)
	<-ready
	line(`{"level":"info","msg":"Everything is ready. Begin running and processing data."}`)
	line(`{"level":"info","msg":"in the middle"}`)
	line(`{"level":"error","msg":"Exporting failed","error":"no space left on device"}`)
	assert.Equal(t, 1, strings.Count(out.String(), "\n"), out.String())
	assert.Contains(t, out.String(), `msg="the local collector says: Exporting failed" error="no space left on device"`)
}

// A $ in a name is no variable to the collector.
func TestCollectorConfig(t *testing.T) {
	config, err := collectorConfig("run $1", "/data/$HOME/traces.jsonl", reachable{host: "10.0.0.7", listen: "10.0.0.7"}, ports{1234, 1235})
	require.NoError(t, err)
	assert.Contains(t, config, `"/data/$$HOME/traces.jsonl"`)
	assert.Contains(t, config, `"value":"run $$1"`)
	for _, address := range []string{"127.0.0.1:1234", "127.0.0.1:1235", "10.0.0.7:1234", "10.0.0.7:1235"} {
		assert.Contains(t, config, `"`+address+`"`)
	}
	config, err = collectorConfig("r", "/f", reachable{host: "driver", all: true}, ports{1234, 1235})
	require.NoError(t, err)
	assert.Contains(t, config, `"endpoint":":1234"`)
	assert.NotContains(t, config, "127.0.0.1")
}

// The log of a collector that dies is shown once, and not mentioned where there is none.
func TestLogOfADeadCollectorOnce(t *testing.T) {
	for lines, want := range map[string]int{"echo no license >&2; exit 3": 1, "exit 3": 0} {
		c, err := startChild("the local collector", exec.Command("sh", "-c", lines), nil)
		require.NoError(t, err)
		var out strings.Builder
		r := &Runtime{collector: &collector{child: c}, log: slog.New(slog.NewTextHandler(&out, nil))}
		r.watch(c, "spans are lost")
		err = r.shutdown(t.Context())
		require.ErrorContains(t, err, "the local collector ended before its time: exit status 3")
		text := out.String() + err.Error()
		assert.Equal(t, 2, strings.Count(text, "exit status 3"), text)
		assert.Equal(t, want, strings.Count(text, "no license"), text)
		assert.Equal(t, want, strings.Count(text, "the end of its log"), text)
	}
}
