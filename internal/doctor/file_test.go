package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// visitOf returns a visit that follows a file.
func visitOf(file string) *visit {
	return &visit{
		Settings: Settings{TraceFile: file, Timeout: time.Second},
		target:   &target{endpoint: "http://h:4317"}, span: newTestSpan(),
	}
}

// line returns the test span as a line.
func (v *visit) line(t *testing.T) []byte {
	t.Helper()
	line, err := (&ptrace.JSONMarshaler{}).MarshalTraces(v.span.traces())
	require.NoError(t, err)
	return append(line, '\n')
}

func appendTo(t *testing.T, path string, data []byte) {
	t.Helper()
	require.NoError(t, appendData(path, data))
}

// appendData is for goroutines, which cannot end a test.
func appendData(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

func look(t *testing.T, v *visit, within time.Duration, while func()) Place {
	t.Helper()
	f := v.openFile()
	defer f.close()
	while()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	return v.lookInFile(ctx, f)
}

const someLine = `{"resourceSpans":[]}` + "\n"

// A file of 1 TiB is read from its end, whatever its name looks like.
func TestFileThatIsLong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "traces[1]*.jsonl")
	appendTo(t, file, []byte(someLine))
	if err := os.Truncate(file, 1<<40); err != nil {
		t.Skipf("the file system of the tests takes no file of 1 TiB: %v", err)
	}
	appendTo(t, file, []byte("\n"))
	v := visitOf(file)
	p := look(t, v, 10*time.Second, func() { appendTo(t, file, v.line(t)) })
	assert.Equal(t, OK, p.State, p.Seen)
	assert.Contains(t, p.Seen, fmt.Sprintf("at byte %d", 1<<40+1))
}

// The file is rotated between the doctor's first look and the span: it is in the segment.
func TestFileThatIsRotated(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "traces.jsonl")
	appendTo(t, file, []byte(someLine))
	v := visitOf(file)
	p := look(t, v, 10*time.Second, func() {
		appendTo(t, file, v.line(t))
		require.NoError(t, os.Rename(file, filepath.Join(dir, "traces-20261201T090000Z-1.jsonl")))
		appendTo(t, file, []byte(`{"resourceSpans":[{}]}`+"\n"))
	})
	assert.Equal(t, OK, p.State, p.Seen)
}

// A writer without a lock (contrib's file exporter) is known by its lines.
func TestFileThatGetsOtherLines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "traces.jsonl")
	appendTo(t, file, []byte(someLine))
	v := visitOf(file)
	p := look(t, v, 300*time.Millisecond, func() {
		appendTo(t, file, visitOf(file).line(t))
		line := v.line(t)
		appendTo(t, file, line[:len(line)-1]) // no line yet
	})
	assert.Equal(t, "file-not-same", p.Finding, p.Seen)
}

func TestFileThatMayNotBeRead(t *testing.T) {
	if os.Geteuid() == 0 {
		// Root reads everything: a link to itself cannot be opened by anybody.
		file := filepath.Join(t.TempDir(), "loop.jsonl")
		require.NoError(t, os.Symlink(file, file))
		p := look(t, visitOf(file), 100*time.Millisecond, func() {})
		assert.Equal(t, "file-unreadable", p.Finding, p.Seen)
		return
	}
	file := filepath.Join(t.TempDir(), "traces.jsonl")
	require.NoError(t, os.WriteFile(file, nil, 0o200))
	p := look(t, visitOf(file), 100*time.Millisecond, func() {})
	assert.Equal(t, "file-unreadable", p.Finding, p.Seen)
	assert.Contains(t, p.Seen, "permission denied")
}
