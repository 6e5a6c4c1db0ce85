//go:build linux

package commands

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/runspan/runspan/test/e2e/harness"
)

const (
	largeLines   = 1200
	largePerLine = 1000
	largeRuns    = 50
)

// large writes a file of some 220 MB below dir: 1,200 lines of 1,000 spans, more than check sorts in
// memory, the last line again, and in the middle a line of 100 MB.
func large(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, "traces.jsonl")
	f, err := os.Create(path)
	require.NoError(t, err)
	w := bufio.NewWriter(f)
	for line := range largeLines + 1 {
		if line == largeLines/2 {
			chunk := strings.Repeat("x", 1<<20)
			for range 100 {
				_, _ = w.WriteString(chunk)
			}
			_ = w.WriteByte('\n')
		}
		line = min(line, largeLines-1)
		_, _ = fmt.Fprintf(w, `{"resourceSpans":[{"resource":{"attributes":[%s]},"scopeSpans":[{"spans":[`, attribute("run.id", fmt.Sprintf("run-%d", line%largeRuns)))
		for i := range largePerLine {
			if i > 0 {
				_ = w.WriteByte(',')
			}
			n := line*largePerLine + i + 1
			_, _ = fmt.Fprintf(w, `{"traceId":"%032x","spanId":"%016x","name":"s"}`, n, n)
		}
		_, _ = w.WriteString("]}]}]}\n")
	}
	require.NoError(t, w.Flush())
	require.NoError(t, f.Close())
}

// runLarge runs a command on two cores and returns its output and the most memory that it had.
func runLarge(t *testing.T, dir string, wantCode int, args ...string) (stdout string, peak int64) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), harness.CommandLine(t), args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOMAXPROCS=2", "TMPDIR="+t.TempDir())
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	_ = cmd.Run() // the code says how it ended
	require.Equal(t, wantCode, cmd.ProcessState.ExitCode(), "%s%s", &out, &errOut)
	require.Empty(t, errOut.String(), "quiet in a pipe")
	// On Linux it is in KiB, and never less than what this process had when it started the other.
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	require.True(t, ok)
	return out.String(), usage.Maxrss << 10
}

// Every command reads a file that is larger than its memory, with a line that is longer than the limit.
func TestLargeFilesTakeLittleMemory(t *testing.T) {
	dir := t.TempDir()
	large(t, dir)
	const most = 160 << 20
	for _, step := range []struct {
		args string
		code int
		want string
	}{
		{"runs --json traces.jsonl", -1, `"bad_lines": 1`},
		{"check traces.jsonl", 1, "traces.jsonl: 1,202 lines, 1,201,000 spans, 50 runs, 199 MiB: 1 bad line, 1,000 duplicate spans"},
		{"repair traces.jsonl --output clean.jsonl", 1, "left out: traces.jsonl: line 601, byte 51676080, 104,857,601 bytes: longer than the limit"},
		{"split clean.jsonl --into runs", 0, "1,201,000 spans of 50 runs in 50 files"},
		{"merge runs --into merged.jsonl", 0, "merged.jsonl: 1,201 lines, 1,201,000 spans, 99 MiB of 50 files"},
		{"prune merged.jsonl --keep 5runs --dry-run", 0, "would delete 0 files"},
	} {
		args := strings.Fields(step.args)
		t.Run(args[0], func(t *testing.T) {
			if step.code < 0 {
				// It says on the standard error that it left out a line.
				r := run(t, dir, args...)
				require.Contains(t, r.stdout, step.want)
				require.Contains(t, r.stderr, "1 bad line left out")
				return
			}
			out, peak := runLarge(t, dir, step.code, args...)
			assert.Contains(t, out, step.want)
			assert.Less(t, peak, int64(most))
			t.Logf("%d MiB at most", peak>>20)
		})
	}
}

// A folder of one small file a run takes memory for what is said of the runs, not for the files.
func TestManyFilesTakeLittleMemory(t *testing.T) {
	dir := t.TempDir()
	const files = 10_000
	for i := range files {
		run := fmt.Sprintf("run-%d", i)
		write(t, dir, filepath.Join("runs", run, "traces.jsonl"), []byte(request(resource("driver", run, span(i+1, "step", 0)))+"\n"))
	}
	const most = 100 << 20
	for _, args := range []string{
		"runs runs", "check --quiet runs", "prune runs --keep 1runs --dry-run", "merge runs --into all.jsonl",
	} {
		args := strings.Fields(args)
		t.Run(args[0], func(t *testing.T) {
			_, peak := runLarge(t, dir, 0, args...)
			assert.Less(t, peak, int64(most))
			t.Logf("%d MiB at most", peak>>20)
		})
	}
}

// Ctrl-C in the middle of the work leaves nothing behind.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	large(t, dir)
	for _, args := range [][]string{
		{"split", "traces.jsonl", "--into", "runs"},
		{"merge", "traces.jsonl", "--into", "merged.jsonl"},
		{"repair", "traces.jsonl"},
	} {
		code := -1
		// A busy machine may let the command end before the signal comes: it gets some tries.
		for try := 0; try < 10 && code != 130; try++ {
			cmd := exec.CommandContext(t.Context(), harness.CommandLine(t), args...)
			cmd.Dir = dir
			require.NoError(t, cmd.Start())
			harness.WaitFor(t, 10*time.Second, "the command to begin", func() error {
				names, err := filepath.Glob(filepath.Join(dir, "*"))
				if err == nil && len(names) < 2 {
					err = os.ErrNotExist
				}
				return err
			})
			_ = cmd.Process.Signal(os.Interrupt)
			_ = cmd.Wait()
			code = cmd.ProcessState.ExitCode()
			if code == 0 || code == 1 {
				for _, made := range []string{"runs", "merged.jsonl", "traces.jsonl.repaired"} {
					require.NoError(t, os.RemoveAll(filepath.Join(dir, made)))
				}
			}
		}
		require.Equal(t, 130, code, "%v", args)
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, entries, 1, "%v left %v", args, entries)
	}
}

// A full disk fails the command, says so and leaves nothing behind.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	large(t, dir)
	volume := t.TempDir()
	if err := syscall.Mount("tmpfs", volume, "tmpfs", 0, "size=15m"); err != nil {
		harness.Missing(t, "a small tmpfs", "run as root: "+err.Error())
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(volume, syscall.MNT_DETACH)) })
	for _, args := range [][]string{
		{"split", "traces.jsonl", "--into", volume},
		{"merge", "traces.jsonl", "--into", filepath.Join(volume, "merged.jsonl")},
		{"repair", "traces.jsonl", "--output", filepath.Join(volume, "repaired.jsonl")},
	} {
		r := run(t, dir, args...)
		require.Equal(t, 2, r.code, "%v: %s", args, r.stderr)
		require.Contains(t, r.stderr, "no space left on device")
		entries, err := os.ReadDir(volume)
		require.NoError(t, err)
		require.Empty(t, entries, "%v", args)
	}
	cmd := exec.CommandContext(t.Context(), harness.CommandLine(t), "check", "traces.jsonl")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+volume)
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "no space left on device")
	require.Contains(t, string(out), "TMPDIR names another folder")
}

// On a terminal long work shows how far it is, and takes that away again.
func TestProgressOnATerminal(t *testing.T) {
	dir := t.TempDir()
	large(t, dir)
	ptmx, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	defer ptmx.Close()
	require.NoError(t, unix.IoctlSetPointerInt(int(ptmx.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(ptmx.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	defer tty.Close()

	cmd := exec.CommandContext(t.Context(), harness.CommandLine(t), "check", "--quiet", "traces.jsonl")
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, tty
	require.NoError(t, cmd.Start())
	shown := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(ptmx) // EIO when the last user of the terminal has closed it
		shown <- string(text)
	}()
	_ = cmd.Wait()
	require.Equal(t, 1, cmd.ProcessState.ExitCode(), out.String())
	require.NoError(t, tty.Close())
	select {
	case text := <-shown:
		assert.Regexp(t, `check +\d+ %  .* of 199 MiB, .*/s  traces.jsonl`, text)
		assert.True(t, strings.HasSuffix(text, "\r\x1b[K"), "%q", text[max(0, len(text)-80):])
	case <-time.After(10 * time.Second):
		t.Fatal("the terminal was not closed")
	}
}
