package runindex

import (
	"encoding/binary"
	"slices"

	"github.com/zeebo/xxh3"
)

// traceTable knows which traces a run has, and in which files. A trace is known by 64 bits of a hash: a
// run of ten million traces is counted wrong by one with a chance of 3e-6.
type traceTable struct {
	files map[traceOfRun][]uint32
}

type traceOfRun struct {
	trace uint64
	run   uint32
}

func newTraceTable() traceTable { return traceTable{files: map[traceOfRun][]uint32{}} }

func hashOfTrace(id [16]byte) uint64 { return xxh3.Hash(id[:]) ^ binary.LittleEndian.Uint64(id[:]) }

// add notes that a file has a trace of a run, and reports whether the run is new to it.
func (t *traceTable) add(id [16]byte, run, file uint32) bool {
	key := traceOfRun{hashOfTrace(id), run}
	files := t.files[key]
	if !slices.Contains(files, file) {
		t.files[key] = append(files, file)
	}
	return files == nil
}

// drop forgets a file, and calls gone with the run of each trace that is in no other.
func (t *traceTable) drop(file uint32, gone func(run uint32)) {
	for key, files := range t.files {
		i := slices.Index(files, file)
		if i < 0 {
			continue
		}
		if len(files) == 1 {
			delete(t.files, key)
			gone(key.run)
			continue
		}
		t.files[key] = slices.Delete(files, i, i+1)
	}
}

// has reports whether a run has a trace.
func (t *traceTable) has(id [16]byte, run uint32) bool {
	return t.files[traceOfRun{hashOfTrace(id), run}] != nil
}
