package procstat

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCPUIsThatOfTheProcess(t *testing.T) {
	for start := time.Now(); time.Since(start) < 50*time.Millisecond; {
	}
	got, err := CPU(os.Getpid())
	require.NoError(t, err)

	// The same from /proc/PID/stat: fields 14 and 15, in ticks of 10 ms.
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", os.Getpid()))
	require.NoError(t, err)
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')'):])
	var ticks int
	for _, field := range fields[12:14] {
		n, err := strconv.Atoi(string(field))
		require.NoError(t, err)
		ticks += n
	}
	assert.InDelta(t, float64(ticks)*0.01, got.Seconds(), 0.05)
	assert.Positive(t, got)
}

func TestCPUOfNoProcess(t *testing.T) {
	_, err := CPU(1 << 28)
	require.Error(t, err)
}

func TestPeakMemoryCountsWhatWasHeld(t *testing.T) {
	before, err := PeakMemory(os.Getpid())
	require.NoError(t, err)
	held := bytes.Repeat([]byte{1}, 64<<20)
	after, err := PeakMemory(os.Getpid())
	require.NoError(t, err)
	assert.Greater(t, after, before+32<<20)
	assert.Len(t, held, 64<<20)
}

func TestDescribeThisMachine(t *testing.T) {
	m, err := Describe(os.Args[0], t.TempDir())
	require.NoError(t, err)
	assert.Positive(t, m.Cores)
	assert.Positive(t, m.MemoryMiB)
	assert.Regexp(t, `^Linux \d`, m.Kernel)
	assert.Regexp(t, `^go`, m.Go)

	_, err = Describe("no-such-file", t.TempDir())
	require.ErrorContains(t, err, "make build")
}
