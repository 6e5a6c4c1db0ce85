package tracefile

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// BenchmarkEncode sets the encoder beside the collector's on each corpus. The contract is a ratio of
// at most 0.30. `ratio` takes turns between the two, so that other load on the machine meets both:
//
//	go test ./internal/tracefile -run '^$' -bench Encode -count 6
func BenchmarkEncode(b *testing.B) {
	requests := corpora(b)
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		td := requests[name]
		var stock ptrace.JSONMarshaler
		var ours Encoder
		line, err := stock.MarshalTraces(td)
		require.NoError(b, err)
		encodeStock := func() {
			if _, err := stock.MarshalTraces(td); err != nil {
				b.Fatal(err)
			}
		}
		encodeOurs := func() {
			if _, err := ours.Encode(td); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(name+"/stock", func(b *testing.B) { benchmarkEncoder(b, len(line), encodeStock) })
		b.Run(name+"/ours", func(b *testing.B) { benchmarkEncoder(b, len(line), encodeOurs) })
		b.Run(name+"/ratio", func(b *testing.B) {
			var timeStock, timeOurs time.Duration
			for b.Loop() {
				start := time.Now()
				encodeStock()
				between := time.Now()
				encodeOurs()
				timeStock += between.Sub(start)
				timeOurs += time.Since(between)
			}
			b.ReportMetric(float64(timeOurs)/float64(timeStock), "ours/stock")
			b.ReportMetric(float64(timeOurs)/float64(b.N)/spansPerRequest, "ns/span")
		})
	}
}

func benchmarkEncoder(b *testing.B, size int, encode func()) {
	b.Helper()
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		encode()
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/spansPerRequest, "ns/span")
}
