package tracefile

import (
	"testing"
	"time"
)

// benchmarkBesideStock measures two ways to handle a line of size bytes, each alone and, as `ratio`, in
// turns, so that other load on the machine meets both.
func benchmarkBesideStock(b *testing.B, name string, size int, stock, ours func()) {
	b.Helper()
	b.Run(name+"/stock", func(b *testing.B) { benchmarkSpans(b, size, stock) })
	b.Run(name+"/ours", func(b *testing.B) { benchmarkSpans(b, size, ours) })
	b.Run(name+"/ratio", func(b *testing.B) {
		var timeStock, timeOurs time.Duration
		for b.Loop() {
			start := time.Now()
			stock()
			between := time.Now()
			ours()
			timeStock += between.Sub(start)
			timeOurs += time.Since(between)
		}
		b.ReportMetric(float64(timeOurs)/float64(timeStock), "ours/stock")
		b.ReportMetric(float64(timeOurs)/float64(b.N)/spansPerRequest, "ns/span")
	})
}

func benchmarkSpans(b *testing.B, size int, work func()) {
	b.Helper()
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		work()
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/spansPerRequest, "ns/span")
}
