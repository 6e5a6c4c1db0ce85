package runindex

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// The table against plain maps: files come, share traces, and go.
func TestTraceTable(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var table traceTable
	type trace struct {
		id  [16]byte
		run uint32
	}
	files := map[uint32]map[trace]bool{}
	counts := map[uint32]int{}
	for step := range 200_000 {
		var of trace
		// Most traces are of few files, as those at the border of two segments.
		binary.BigEndian.PutUint64(of.id[8:], uint64(step/2+random.IntN(2000)))
		of.run = uint32(random.IntN(3))
		file := uint32(1 + step/20_000 + random.IntN(2))
		if files[file] == nil {
			files[file] = map[trace]bool{}
		}
		known := false
		for _, traces := range files {
			known = known || traces[of]
		}
		require.Equal(t, !known, table.add(of.id, of.run, file))
		if !known {
			counts[of.run]++
		}
		files[file][of] = true
		if random.IntN(20_000) == 0 {
			gone := map[uint32]bool{uint32(1 + random.IntN(10)): true, uint32(1 + random.IntN(10)): true}
			table.drop(gone, func(run uint32) { counts[run]-- })
			for file := range gone {
				delete(files, file)
			}
			all := map[uint32]map[trace]bool{}
			for _, traces := range files {
				for of := range traces {
					if all[of.run] == nil {
						all[of.run] = map[trace]bool{}
					}
					all[of.run][of] = true
					require.True(t, table.has(hashOfTrace(of.id), of.run))
				}
			}
			for run, n := range counts {
				require.Len(t, all[run], n)
			}
		}
	}
}
