package tracefile

import (
	"maps"
	"slices"
	"testing"

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
		benchmarkBesideStock(b, name, len(line), decodeStock, decodeOurs)
	}
}
