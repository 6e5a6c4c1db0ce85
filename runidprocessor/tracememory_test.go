package runidprocessor

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

func TestTraceMemory(t *testing.T) {
	a, b, c, d := repeated16(1), repeated16(2), repeated16(3), repeated16(4)
	// asked returns what the memory says: "" for nothing, "two" for two runs.
	asked := func(m *traceMemory, trace pcommon.TraceID, now time.Duration) string {
		switch run, ok := m.lookup(trace, now); {
		case !ok:
			return ""
		case run == nil:
			return "two"
		default:
			return *run
		}
	}

	t.Run("remembers until the trace is too old", func(t *testing.T) {
		m := newTraceMemory(10, time.Hour)
		learn(m, a, "r", 0)
		learn(m, b, "r", time.Minute)
		learn(m, a, "r", 30*time.Minute)
		assert.Equal(t, "r", asked(m, b, time.Hour))
		assert.Empty(t, asked(m, b, time.Hour+time.Minute))
		assert.Equal(t, "r", asked(m, a, time.Hour+time.Minute), "named again since")

		m.expire(time.Hour + time.Minute)
		assert.EqualValues(t, 1, m.remembered.Load())
		assert.EqualValues(t, 1, m.evictedByAge.Load())
		assert.Equal(t, "r", asked(m, a, time.Hour+time.Minute))
		learn(m, c, "s", 2*time.Hour) // takes the room of b
		assert.Equal(t, "s", asked(m, c, 2*time.Hour))
	})
	t.Run("forgets what was not named again when it is full", func(t *testing.T) {
		m := newTraceMemory(3, time.Hour)
		learn(m, a, "r", 1)
		learn(m, b, "s", 1)
		learn(m, c, "t", 1)
		learn(m, a, "r", 1)
		learn(m, d, "u", 1)
		assert.Equal(t, []string{"r", "", "t", "u"}, []string{asked(m, a, 1), asked(m, b, 1), asked(m, c, 1), asked(m, d, 1)})
		assert.EqualValues(t, 3, m.remembered.Load())
		assert.EqualValues(t, 1, m.evictedBySize.Load())
	})
	t.Run("lends nothing once a trace named two runs", func(t *testing.T) {
		m := newTraceMemory(10, time.Hour)
		learn(m, a, "r", 0)
		learn(m, a, "s", 0)
		learn(m, a, "r", 0)
		learn(m, a, "r", 0)
		assert.Equal(t, "two", asked(m, a, 0))
		assert.EqualValues(t, 1, m.conflicts.Load())
	})
	t.Run("never holds more than its bound", func(t *testing.T) {
		for _, bound := range []int{1, 2, 100, shardedFrom, 5000} {
			m := newTraceMemory(bound, time.Hour)
			random := rand.New(rand.NewPCG(3, 4))
			var last pcommon.TraceID
			for range 4 * bound {
				last = randomTrace(random)
				learn(m, last, "r", 1)
			}
			assert.EqualValues(t, bound, m.remembered.Load())
			held := 0
			for i := range m.shards {
				held += m.shards[i].index.used
			}
			assert.Equal(t, bound, held)
			assert.EqualValues(t, 3*bound, m.evictedBySize.Load())
			assert.Equal(t, "r", asked(m, last, 1))
		}
	})
	t.Run("finds every trace it holds, and no other", func(t *testing.T) {
		m := newTraceMemory(20_000, time.Hour)
		random := rand.New(rand.NewPCG(5, 6))
		want := map[pcommon.TraceID]string{}
		for i := range 20_000 {
			trace := randomTrace(random)
			want[trace] = strconv.Itoa(i % 100)
			learn(m, trace, want[trace], time.Duration(i%2)*time.Minute*2)
		}
		for trace, run := range want {
			require.Equal(t, run, asked(m, trace, 2*time.Minute))
		}
		m.expire(time.Hour) // half of them
		assert.EqualValues(t, 10_000, m.evictedByAge.Load())
		found := 0
		for trace, run := range want {
			if got := asked(m, trace, time.Hour); got != "" {
				require.Equal(t, run, got)
				found++
			}
		}
		assert.Equal(t, 10_000, found)
		for range 1000 {
			require.Empty(t, asked(m, randomTrace(random), time.Hour))
		}
	})
}

// TestRunsOfForgottenTracesAreDropped: of whichever runs the traces are, and in whichever order they are
// forgotten, a remembered trace keeps its own run, and no run is kept that no trace has.
func TestRunsOfForgottenTracesAreDropped(t *testing.T) {
	const bound, traces = 300, 2000
	random := rand.New(rand.NewPCG(9, 10))
	m := newTraceMemory(bound, time.Hour)
	runOf := map[pcommon.TraceID]string{}
	known := make([]pcommon.TraceID, 0, traces)
	now := time.Duration(0)
	for i := range 20 * traces {
		now += time.Second
		trace := randomTrace(random)
		switch {
		case len(known) < traces:
			known = append(known, trace)
			runOf[trace] = strconv.Itoa(i)
		case i%5000 == 0:
			m.expire(now + 59*time.Minute + 50*time.Second)
			fallthrough
		default:
			trace = known[random.IntN(traces)]
		}
		learn(m, trace, runOf[trace], now)
	}
	held := 0
	for trace, want := range runOf {
		if run, ok := m.lookup(trace, now); ok {
			require.Equal(t, want, *run)
			held++
		}
	}
	assert.Positive(t, held)
	assert.EqualValues(t, held, m.remembered.Load())
	assert.Positive(t, m.evictedByAge.Load())

	m.expire(now + time.Hour)
	for i := range m.shards {
		for _, runs := range m.shards[i].runs {
			assert.LessOrEqual(t, len(runs), 1)
		}
	}
}

// TestBytesPerTrace holds the promise of at most 100 bytes a remembered trace. The traces come as
// they would from requests: with copies of the run ids of their own.
func TestBytesPerTrace(t *testing.T) {
	for _, n := range []int{100_000, 75_000, 51_000} { // full, and where the tables have just grown
		random := rand.New(rand.NewPCG(7, 8))
		before := heapBytes()
		m := newTraceMemory(100_000, time.Hour)
		for i := range n {
			trace := randomTrace(random)
			learn(m, trace, benchRun(i%100), 1)
		}
		perTrace := float64(heapBytes()-before) / float64(n)
		t.Logf("%d traces of 100 runs: %.1f bytes each", n, perTrace)
		assert.LessOrEqual(t, perTrace, 100.0)
		assert.EqualValues(t, n, m.remembered.Load())
	}
}

// learn tells m one thing.
func learn(m *traceMemory, trace pcommon.TraceID, run string, now time.Duration) {
	m.learn([]lesson{{trace: trace, hash: m.hash(trace)}}, []namedRun{{id: run}}, now)
}

func heapBytes() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// BenchmarkTraceMemory measures what a trace costs that is new to a full memory, and one that is
// known, in requests of 50 traces.
func BenchmarkTraceMemory(b *testing.B) {
	const inRequest = 50
	random := rand.New(rand.NewPCG(1, 2))
	traces := make([]pcommon.TraceID, inRequest<<12)
	for i := range traces {
		traces[i] = randomTrace(random)
	}
	for _, tc := range []struct {
		name   string
		traces int
	}{{"new", len(traces)}, {"known", inRequest << 10}} {
		b.Run(tc.name, func(b *testing.B) {
			m := newTraceMemory(100_000, time.Hour)
			runs := []namedRun{{id: "20261201-101500-4711-0a1b2c3d"}}
			lessons := make([]lesson, inRequest)
			request := func(i int, now time.Duration) {
				for k := range lessons {
					trace := traces[(i*inRequest+k)%tc.traces]
					lessons[k] = lesson{trace: trace, hash: m.hash(trace)}
				}
				m.learn(lessons, runs, now)
			}
			for i := range tc.traces / inRequest {
				request(i, 1)
			}
			for i := 0; b.Loop(); i++ {
				request(i, 2)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/inRequest, "ns/trace")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func randomTrace(random *rand.Rand) (trace pcommon.TraceID) {
	binary.LittleEndian.PutUint64(trace[:8], random.Uint64())
	binary.LittleEndian.PutUint64(trace[8:], random.Uint64()|1)
	return trace
}
