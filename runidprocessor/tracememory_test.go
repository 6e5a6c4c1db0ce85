package runidprocessor

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// BenchmarkTraceMemory measures what a span costs whose trace is new to a full memory, and one
// whose trace is known.
func BenchmarkTraceMemory(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	traces := make([]pcommon.TraceID, 1<<18)
	for i := range traces {
		traces[i] = randomTrace(random)
	}
	for _, tc := range []struct {
		name   string
		traces int
	}{{"new", len(traces)}, {"known", 1 << 16}} {
		b.Run(tc.name, func(b *testing.B) {
			m := newTraceMemory(100_000, time.Hour)
			run := m.runs.share("20261201-101500-4711-0a1b2c3d")
			for _, trace := range traces[:tc.traces] {
				m.learn(trace, m.hash(trace), run, 1)
			}
			for i := 0; b.Loop(); i++ {
				trace := traces[i%tc.traces]
				m.learn(trace, m.hash(trace), run, 2)
			}
		})
	}
}

func randomTrace(random *rand.Rand) (trace pcommon.TraceID) {
	binary.LittleEndian.PutUint64(trace[:8], random.Uint64())
	binary.LittleEndian.PutUint64(trace[8:], random.Uint64()|1)
	return trace
}
