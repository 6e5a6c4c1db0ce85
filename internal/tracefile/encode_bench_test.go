package tracefile

import (
	"maps"
	"slices"
	"testing"

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
		benchmarkBesideStock(b, name, len(line), encodeStock, encodeOurs)
	}
}
