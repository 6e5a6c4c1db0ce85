package tracefile

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// BenchmarkDecode sets the decoder beside the collector's on each corpus. The goal is a ratio of at
// most 0.40. `ratio` takes turns between the two, so that other load on the machine meets both:
//
//	go test ./internal/tracefile -run '^$' -bench Decode -count 6
func BenchmarkDecode(b *testing.B) {
	requests := corpora(b)
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		line := AppendTraces(nil, requests[name])
		var stock ptrace.JSONUnmarshaler
		var ours Decoder
		decodeStock := func() {
			if _, err := stock.UnmarshalTraces(line); err != nil {
				b.Fatal(err)
			}
		}
		decodeOurs := func() {
			if _, err := ours.Append(ptrace.NewTraces().ResourceSpans(), line); err != nil {
				b.Fatal(err)
			}
		}
		require.True(b, ours.canonical.read(ptrace.NewTraces().ResourceSpans(), line))
		b.Run(name+"/stock", func(b *testing.B) { benchmarkDecoder(b, len(line), decodeStock) })
		b.Run(name+"/ours", func(b *testing.B) { benchmarkDecoder(b, len(line), decodeOurs) })
		b.Run(name+"/ratio", func(b *testing.B) {
			var timeStock, timeOurs time.Duration
			for b.Loop() {
				start := time.Now()
				decodeStock()
				between := time.Now()
				decodeOurs()
				timeStock += between.Sub(start)
				timeOurs += time.Since(between)
			}
			b.ReportMetric(float64(timeOurs)/float64(timeStock), "ours/stock")
			b.ReportMetric(float64(timeOurs)/float64(b.N)/spansPerRequest, "ns/span")
		})
	}
}

func benchmarkDecoder(b *testing.B, size int, decode func()) {
	b.Helper()
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		decode()
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/spansPerRequest, "ns/span")
}
