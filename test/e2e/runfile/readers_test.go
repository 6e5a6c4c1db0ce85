//go:build linux

package runfile

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

// fromDocument returns the code block of that language in docs/file-format.md.
func fromDocument(t *testing.T, language string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "file-format.md"))
	require.NoError(t, err)
	_, after, found := strings.Cut(string(text), "\n```"+language+"\n")
	require.True(t, found, "no block in %s", language)
	block, _, found := strings.Cut(after, "\n```\n")
	require.True(t, found)
	require.NotContains(t, after[len(block):], "\n```"+language+"\n", "one block a language")
	return block + "\n"
}

// lineOf is a line with one span of that name.
func lineOf(name string) string {
	return fmt.Sprintf(`{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{},"spans":[`+
		`{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","name":%q}]}]}]}`, name) + "\n"
}

// want is what a reader prints of a line.
func want(name string) string {
	return "5b8efff798038103d269b633813fc60c eee19b7ec3c1b174 " + name
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	require.NoError(t, err)
	_, err = f.WriteString(text)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

func overwrite(t *testing.T, path string, at int, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte(text), int64(at))
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// follower runs a reader that follows a file, and gives its output line by line.
func follower(t *testing.T, name string, args ...string) <-chan string {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := make(chan string, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
		_ = cmd.Wait()
	})
	return lines
}

// The readers of the document do what the document says.
func TestReadersOfTheDocument(t *testing.T) {
	t.Run("python", func(t *testing.T) {
		t.Parallel()
		python, err := exec.LookPath("python3")
		if err != nil {
			harness.Missing(t, "Python", "install python3")
		}
		program := filepath.Join(t.TempDir(), "reader.py")
		require.NoError(t, os.WriteFile(program, []byte(fromDocument(t, "python")), 0o600))
		checkFollower(t, python, program)
	})
	t.Run("go", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		source, program := filepath.Join(dir, "reader.go"), filepath.Join(dir, "reader")
		require.NoError(t, os.WriteFile(source, []byte(fromDocument(t, "go")), 0o600))
		out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, source).CombinedOutput()
		require.NoError(t, err, "%s", out)
		checkFollower(t, program)
	})
}

func checkFollower(t *testing.T, name string, args ...string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	text := lineOf("a") + lineOf("b")
	half := len(text) - 20
	appendTo(t, path, text[:half])
	lines := follower(t, name, append(args, path)...)
	next := func(span string) {
		t.Helper()
		select {
		case line := <-lines:
			require.Equal(t, want(span), line)
		case <-time.After(20 * time.Second):
			t.Fatalf("%q is not read", span)
		}
	}
	nothing := func(why string) {
		t.Helper()
		select {
		case line := <-lines:
			t.Fatalf("%s: %s", why, line)
		case <-time.After(time.Second):
		}
	}
	next("a")
	nothing("half a line is no line")
	appendTo(t, path, text[half:])
	next("b")

	late := lineOf("late")
	at := len(text)
	appendTo(t, path, strings.Repeat("\x00", len(late)-1)+"\n"+lineOf("behind"))
	nothing("a bad line is read again before it is stepped over")
	overwrite(t, path, at, late)
	next("late")
	next("behind")

	appendTo(t, path, "{\"resourceSp\n"+lineOf("after"))
	next("after")

	require.NoError(t, os.Rename(path, path+".1"))
	appendTo(t, path, lineOf("new file"))
	next("new file")

	require.NoError(t, os.WriteFile(path, []byte(lineOf("c")), 0o600))
	next("c")
	nothing("every line once")
}

func TestJQOfTheDocument(t *testing.T) {
	for _, program := range []string{"sh", "jq", "wc", "head"} {
		if _, err := exec.LookPath(program); err != nil {
			harness.Missing(t, program, "install it")
		}
	}
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	// Whole but for its newline, which is why it is no data.
	appendTo(t, path, lineOf("a")+"{\"resourceSp\n"+lineOf("b")+strings.TrimSuffix(lineOf("c"), "\n"))
	out, err := exec.CommandContext(t.Context(), "sh", "-c", fromDocument(t, "sh"), "sh", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, want("a")+"\n"+want("b")+"\n", string(out))

	require.NoError(t, os.WriteFile(path, nil, 0o600))
	out, err = exec.CommandContext(t.Context(), "sh", "-c", fromDocument(t, "sh"), "sh", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Empty(t, string(out), "a file without a line")
}
