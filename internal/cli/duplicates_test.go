package cli

import (
	"encoding/hex"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

type ids struct {
	trace pcommon.TraceID
	span  pcommon.SpanID
}

// The sorter finds what a map finds, with all in memory, some of it or hardly any.
func TestSpanSorterFindsWhatAMapFinds(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, most := range []int{1, 7, 1000, 1 << 20} {
		random := rand.New(rand.NewPCG(1, uint64(most)))
		s := spanSorter{most: most}
		lines := map[[2]string][]int64{} // by the ids in hex
		for line := int64(1); line <= 3000; line++ {
			id := ids{
				trace: pcommon.TraceID{0: byte(random.IntN(4)), 15: byte(random.IntN(20))},
				span:  pcommon.SpanID{0: byte(random.IntN(3)), 7: byte(random.IntN(20))},
			}
			key := [2]string{hex.EncodeToString(id.trace[:]), hex.EncodeToString(id.span[:])}
			lines[key] = append(lines[key], line)
			require.NoError(t, s.add(id.trace, id.span, line))
		}
		require.Equal(t, most < 3000, s.file != nil)
		found := 0
		require.NoError(t, s.duplicates(func(first []spanPlace, count int64) {
			found++
			want := lines[[2]string{first[0].traceID(), first[0].spanID()}]
			require.Equal(t, int64(len(want)), count)
			require.Len(t, first, min(placesShown, len(want)))
			for i, p := range first {
				require.Equal(t, want[i], int64(p.line))
			}
		}))
		more := 0
		for _, of := range lines {
			if len(of) > 1 {
				more++
			}
		}
		require.Equal(t, more, found)
		require.NoError(t, s.close())
		left, err := os.ReadDir(os.TempDir())
		require.NoError(t, err)
		assert.Empty(t, left, "no temporary file is left")
	}
}

func TestSpanSorterNamesTheFolderThatItCannotUse(t *testing.T) {
	t.Setenv("TMPDIR", "/nothing/here")
	s := spanSorter{most: 1}
	require.NoError(t, s.add(pcommon.TraceID{1}, pcommon.SpanID{1}, 1))
	require.ErrorContains(t, s.add(pcommon.TraceID{1}, pcommon.SpanID{1}, 2), "/nothing/here (TMPDIR names another folder)")
}

// A disk that is gone while ids are read back is no clean file.
func TestSpanSorterTellsAFailingDisk(t *testing.T) {
	s := spanSorter{most: 1}
	for line := range int64(5) {
		require.NoError(t, s.add(pcommon.TraceID{1}, pcommon.SpanID{byte(line + 1)}, line))
	}
	require.NoError(t, s.file.Close())
	require.ErrorContains(t, s.duplicates(func([]spanPlace, int64) {}), "reading sorted span ids")
}

func BenchmarkSpanSorter(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	b.Setenv("TMPDIR", b.TempDir())
	s := spanSorter{most: sorterPlaces}
	for line := range b.N {
		var id ids
		for i := range id.trace {
			id.trace[i] = byte(random.Uint32())
		}
		for i := range id.span {
			id.span[i] = byte(random.Uint32())
		}
		if err := s.add(id.trace, id.span, int64(line)); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.duplicates(func([]spanPlace, int64) { b.Error("a duplicate") }); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(s.size)/float64(b.N), "disk-B/op")
	if err := s.close(); err != nil {
		b.Fatal(err)
	}
}
