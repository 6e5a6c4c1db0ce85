package tracefile

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// BenchmarkEncode sets our encoder beside the collector's on each corpus; the contract is 0.30 of
// its time. Compare within one run only: `go test -run '^$' -bench Encode -count 6`.
func BenchmarkEncode(b *testing.B) {
	for name, td := range corpora(b) {
		var stock ptrace.JSONMarshaler
		line, err := stock.MarshalTraces(td)
		require.NoError(b, err)
		b.Run(name+"/stock", func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := stock.MarshalTraces(td); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/ours", func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			var e Encoder
			for b.Loop() {
				if _, err := e.Encode(td); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
