package tracefile

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestMain makes this test binary the other process that a lock needs.
func TestMain(m *testing.M) {
	path := os.Getenv("TRACEFILE_TEST_HOLD")
	if path == "" {
		goleak.VerifyTestMain(m)
		return
	}
	a, err := Open(context.Background(), testOptions(path))
	if err != nil {
		panic(err)
	}
	fmt.Println("held")
	_, _ = os.Stdin.Read(make([]byte, 1)) // until the test goes away
	_ = a.Close(context.Background())
}

// hold has another process write the file until release is called.
func hold(t *testing.T, path string) (pid int, release func()) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), "TRACEFILE_TEST_HOLD="+path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var once sync.Once
	release = func() {
		once.Do(func() {
			_ = in.Close()
			_ = cmd.Wait()
		})
	}
	t.Cleanup(release)
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "held\n", line)
	return cmd.Process.Pid, release
}

func TestLockIsHeldByAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	pid, release := hold(t, path)
	opts := testOptions(path)
	opts.LockTimeout = 200 * time.Millisecond
	begin := time.Now()
	_, err := Open(t.Context(), opts)
	require.ErrorIs(t, err, ErrLocked)
	assert.GreaterOrEqual(t, time.Since(begin), opts.LockTimeout)
	for _, want := range []string{path, "process " + strconv.Itoa(pid), "lock_timeout"} {
		require.ErrorContains(t, err, want)
	}

	opts.LockTimeout = 10 * time.Second
	time.AfterFunc(200*time.Millisecond, release)
	a := mustOpen(t, opts)
	require.NoError(t, put(t.Context(), a, []byte("line\n")), "a predecessor that goes is waited for")
}

func TestLockWaitEndsWithTheContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	hold(t, path)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	opts := testOptions(path)
	opts.LockTimeout = time.Minute
	_, err := Open(ctx, opts)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestTwoWritersInOneProcess(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "traces.jsonl")
	opts := testOptions(path)
	opts.NoLock = true
	opts.LockTimeout = time.Minute // it is not waited for
	a := mustOpen(t, opts)
	require.NoError(t, os.Symlink(dir, dir+"-link"))
	t.Cleanup(func() { _ = os.Remove(dir + "-link") })
	require.NoError(t, os.Symlink(path, filepath.Join(dir, "link.jsonl")))
	for _, alias := range []string{path, filepath.Join(dir+"-link", "traces.jsonl"), filepath.Join(dir, "link.jsonl")} {
		opts.Path = alias
		_, err := Open(t.Context(), opts)
		require.ErrorIs(t, err, ErrLocked, alias)
		require.ErrorContains(t, err, "in this process")
	}
	opts.Path = path
	require.NoError(t, a.Close(t.Context()))
	mustOpen(t, opts)
}

func TestLocksAreNotSupported(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.ENOLCK, syscall.ENOTSUP, syscall.ENOSYS} {
		opts := testOptions(filepath.Join(t.TempDir(), "traces.jsonl"))
		opts.flock = func(*os.File) error { return errno }
		_, err := Open(t.Context(), opts)
		require.ErrorIs(t, err, errno)
		require.ErrorContains(t, err, "lock: off")
		opts.NoLock = true
		opts.Path = filepath.Join(t.TempDir(), "traces.jsonl")
		mustOpen(t, opts)
		assert.NoFileExists(t, opts.Path+".lock")
	}
}

func TestLockFileRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	a := mustOpen(t, testOptions(path))
	require.NoError(t, os.Remove(path+".lock"))
	withinASecond(t, exists(path+".lock"), "made and locked anew")
	require.NoError(t, put(t.Context(), a, []byte("line\n")))
	opts := testOptions(path)
	opts.LockTimeout = 0
	_, err := acquireLock(t.Context(), lockPath(path), path, 0, flockExclusive)
	require.ErrorIs(t, err, ErrLocked)
}
