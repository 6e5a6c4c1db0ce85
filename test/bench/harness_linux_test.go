package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/bench/internal/contender"
	"github.com/runspan/runspan/test/bench/internal/results"
)

// collector builds the real collector.
func collector(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "otelcol-runspan")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../cmd/otelcol-runspan").CombinedOutput()
	require.NoError(t, err, string(out))
	return binary
}

func TestTheHarnessOnTheRealCollector(t *testing.T) {
	binary := collector(t)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	relative, err := filepath.Rel(root, binary)
	require.NoError(t, err)
	dir := t.TempDir()
	common := []string{"-root", root, "-bin", relative, "-dir", dir, "-warmup", "200", "-slices", "1"}
	noTrace := func() {
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.Empty(t, left, "what the collectors wrote is removed")
		assert.Empty(t, processesOf(t, binary), "all collectors are ended")
	}

	t.Run("every contender delivers all spans", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "results.json")
		require.NoError(t, run(t.Context(), append([]string{
			"-spans", "2000", "-rounds", "1", "-rate", "4000", "-rate-seconds", "0.2", "-processor-rounds", "0", "-json", file,
		}, common...)))
		got, err := results.Read(file)
		require.NoError(t, err)
		require.Len(t, got.Whole.Contenders, len(contender.All))
		for _, c := range got.Whole.Contenders {
			assert.Positive(t, c.CPU.Median, c.Name)
			assert.Greater(t, c.Memory.Median, 10.0, c.Name)
			assert.Equal(t, 4, c.Latency.Requests, c.Name)
		}
		noTrace()
	})

	t.Run("an interrupt ends everything", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan error, 1)
		go func() {
			done <- run(ctx, append([]string{"-only", "nop,fanout_memory", "-spans", "5000000", "-processor-rounds", "0"}, common...))
		}()
		require.Eventually(t, func() bool { return len(processesOf(t, binary)) == 3 }, 20*time.Second, 10*time.Millisecond)
		cancel()
		select {
		case err := <-done:
			require.ErrorIs(t, err, context.Canceled)
		case <-time.After(30 * time.Second):
			require.Fail(t, "not ended 30 s after the interrupt")
		}
		noTrace()
	})
}

// processesOf returns the processes that run the program.
func processesOf(t *testing.T, binary string) []string {
	t.Helper()
	programs, err := filepath.Glob("/proc/[0-9]*/exe")
	require.NoError(t, err)
	var found []string
	for _, link := range programs {
		program, err := os.Readlink(link)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
			continue // ended meanwhile, or not ours
		}
		if err == nil && strings.HasPrefix(program, binary) {
			found = append(found, link)
		}
	}
	return found
}
