//go:build linux

package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

// TestMemory_Flat loads the pod with half of what it takes at most, in a cgroup with the chart's memory
// limit, and looks at the memory that is the collector's own: in the last third of the time it is what it
// was in the second. Two minutes with `make e2e`; RUNSPAN_MEMORY_FLAT=10m is the long run.
func TestMemory_Flat(t *testing.T) {
	total := 20 * time.Second
	if harness.Full() {
		total = 2 * time.Minute
	}
	if text := os.Getenv("RUNSPAN_MEMORY_FLAT"); text != "" {
		var err error
		total, err = time.ParseDuration(text)
		require.NoError(t, err)
	}
	// Segments are deleted on the way, so that ten minutes need no more disk than one.
	d := newNode(t).deploy(t, render(t, "traces: {rotation: {maxBytes: 256Mi}, retention: {maxBytes: 1Gi}}"), nil)
	const limit = 2 << 30
	require.Equal(t, "2Gi", d.collectorSpec(t).container(t, "collector").Resources.Limits.Memory)
	group := memoryCgroup(t, limit)
	c := d.start(t, group)
	s := d.node.plug(t).sender(t, serviceHost+":4317", nil)

	const goroutines, spans = 8, 200
	top := measureRate(t, s, goroutines, spans)
	pause := time.Duration(float64(goroutines*spans) / (top / 2) * float64(time.Second))
	stop := s.load(t, goroutines, spans, pause)
	begin, sent := time.Now(), s.count()
	var own []int
	for time.Since(begin) < total {
		time.Sleep(500 * time.Millisecond)
		own = append(own, anonymousKiB(t, c.PID()))
	}
	rate := float64(s.count()-sent) / time.Since(begin).Seconds()
	stop()
	refused := s.refusals()
	c.stop(t)

	third := len(own) / 3
	second, last := median(own[third:2*third]), median(own[2*third:])
	t.Logf("%.0f spans/s for %s (at most: %.0f); anonymous memory: median %d MiB in the second third, %d MiB in the last, at most %d MiB of %d; %d requests refused",
		rate, total, top, second>>10, last>>10, slices.Max(own)>>10, limit>>20, refused)
	require.Zero(t, refused)
	require.Zero(t, killed(t, group), "killed for its memory")
	require.Greater(t, rate, top/4, "the load is too small to say anything")
	const noise = 16 << 10 // KiB: one garbage collection more or less
	require.LessOrEqual(t, last, second+second/10+noise, "KiB: memory grows")
}

// measureRate returns how many spans a second get through at most, over five seconds.
func measureRate(t *testing.T, s *sender, goroutines, spans int) float64 {
	t.Helper()
	stop := s.load(t, goroutines, spans, 0)
	time.Sleep(time.Second)
	begin, before := time.Now(), s.count()
	time.Sleep(5 * time.Second)
	rate := float64(s.count()-before) / time.Since(begin).Seconds()
	stop()
	require.NotZero(t, rate)
	s.forget()
	return rate
}

// anonymousKiB returns the memory of a process that is not of files.
func anonymousKiB(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(status), "RssAnon:")
	require.True(t, ok)
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(t, err)
	return n
}

func median(values []int) int {
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}

// memoryCgroup makes a cgroup with a memory limit, version 2 or 1, whichever may be made here.
func memoryCgroup(t *testing.T, bytes int) string {
	t.Helper()
	parent, file := "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		parent, file = "/sys/fs/cgroup", "memory.max"
	}
	dir := filepath.Join(parent, fmt.Sprintf("runspan-%d", os.Getpid()))
	err := os.Mkdir(dir, 0o755)
	if err == nil {
		t.Cleanup(func() { _ = os.Remove(dir) })
		err = os.WriteFile(filepath.Join(dir, file), []byte(strconv.Itoa(bytes)), 0o600)
	}
	if err != nil {
		harness.Missing(t, "a memory cgroup ("+err.Error()+")", "run the tests where cgroups may be made")
	}
	return dir
}

// killed returns how many processes of the cgroup were ended for its limit.
func killed(t *testing.T, group string) int {
	t.Helper()
	for _, file := range []string{"memory.events", "memory.oom_control"} {
		if text, err := os.ReadFile(filepath.Join(group, file)); err == nil {
			_, rest, ok := strings.Cut(string(text), "oom_kill ")
			require.True(t, ok, string(text))
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			require.NoError(t, err)
			return n
		}
	}
	require.Fail(t, "the cgroup does not say")
	return 0
}
