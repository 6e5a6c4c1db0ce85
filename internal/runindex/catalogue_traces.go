package runindex

import (
	"math/bits"

	"github.com/zeebo/xxh3"
)

// traceTable knows which traces a run has, and in which files, so that a file that goes away takes with it
// what only it had. A trace is known by 64 bits of a hash: the chance that any two of ten million are
// taken for one is 3e-6. It takes some 22 bytes a trace.
type traceTable struct {
	owned  traceSet // each trace of a run once, with the first file that has it
	shared traceSet // the other files that have it: few, where a trace goes on in the next segment
	// recent are those that were last added, by their hash: spans of a trace mostly come together.
	recent [1024]traceEntry

	// fresh are those that the cache does not have in whole chunks; rewrite: some of what it has is gone.
	// Where there is no cache, fresh is not kept.
	fresh   []traceEntry
	cached  bool
	rewrite bool
}

// traceEntry is a trace of a run in a file; the file 0 is no entry.
type traceEntry struct {
	trace uint64
	run   uint32
	file  uint32
}

func hashOfTrace(id [16]byte) uint64 { return xxh3.Hash(id[:]) }

// add notes that a file has a trace of a run, and reports whether the run is new to it.
func (t *traceTable) add(id [16]byte, run, file uint32) bool {
	e := traceEntry{hashOfTrace(id), run, file}
	known := &t.recent[e.trace%uint64(len(t.recent))]
	if *known == e {
		return false
	}
	*known = e
	return t.addEntry(e)
}

func (t *traceTable) addEntry(e traceEntry) bool {
	owner, added := t.owned.add(e, false)
	also := false
	if !added && owner != e.file {
		_, also = t.shared.add(e, true)
	}
	if t.cached && (added || also) {
		t.fresh = append(t.fresh, e)
	}
	return added
}

// keepFresh begins, or ends, to keep what is new for a cache. Whatever the cache has is written anew.
func (t *traceTable) keepFresh(cached bool) {
	t.cached, t.fresh, t.rewrite = cached, nil, false
}

// count returns how many entries there are.
func (t *traceTable) count() int { return t.owned.count() + t.shared.count() }

// reserve makes room for entries.
func (t *traceTable) reserve(n int) {
	for i := range t.owned.shards {
		t.owned.shards[i].resize(max(16, n/len(t.owned.shards)*5/4))
	}
}

// has reports whether a run has a trace.
func (t *traceTable) has(trace uint64, run uint32) bool {
	e := traceEntry{trace: trace, run: run}
	shard := t.owned.shard(e.key())
	if len(shard.entries) == 0 {
		return false
	}
	for i := shard.place(e.key()); shard.entries[i].file != 0; i = shard.next(i) {
		if shard.entries[i].trace == trace && shard.entries[i].run == run {
			return true
		}
	}
	return false
}

// drop forgets files, and calls gone with the run of each trace that is in no other.
func (t *traceTable) drop(files map[uint32]bool, gone func(run uint32)) {
	t.recent = [len(t.recent)]traceEntry{}
	t.rewrite = t.cached
	if t.rewrite {
		t.fresh = nil
	}
	t.shared.keep(func(e *traceEntry) bool { return !files[e.file] })
	heirs := map[traceEntry]bool{}
	t.owned.keep(func(e *traceEntry) bool {
		if !files[e.file] {
			return true
		}
		heir, found := t.shared.any(*e)
		if !found {
			gone(e.run)
			return false
		}
		heirs[heir] = true
		e.file = heir.file
		return true
	})
	if len(heirs) > 0 {
		t.shared.keep(func(e *traceEntry) bool { return !heirs[*e] })
	}
}

// each calls visit for every trace of a run in a file.
func (t *traceTable) each(visit func(traceEntry)) {
	t.owned.each(visit)
	t.shared.each(visit)
}

// traceSet is a hash table of entries. It has many shards, so that only a small part of it is there twice
// while one grows.
type traceSet struct{ shards [256]traceShard }

type traceShard struct {
	entries []traceEntry
	count   int
}

// key spreads an entry over all bits; the file is no part of it.
func (e *traceEntry) key() uint64 {
	high, low := bits.Mul64(e.trace^0x9e3779b97f4a7c15, uint64(e.run)*0xbf58476d1ce4e5b9+0x94d049bb133111eb)
	return high ^ low
}

func (s *traceSet) shard(key uint64) *traceShard { return &s.shards[key>>56] }

func (s *traceShard) place(key uint64) int {
	place, _ := bits.Mul64(key<<8, uint64(len(s.entries)))
	return int(place)
}

func (s *traceShard) next(i int) int {
	if i++; i == len(s.entries) {
		return 0
	}
	return i
}

// add adds an entry, unless there is one of the same trace and run; and of the same file, if that counts.
// It returns the file of the one that is there then.
func (s *traceSet) add(e traceEntry, file bool) (of uint32, added bool) {
	key := e.key()
	shard := s.shard(key)
	// At most six sevenths are in use. A third more each time wastes less than twice as much would.
	if 7*(shard.count+1) > 6*len(shard.entries) {
		shard.resize(max(16, len(shard.entries)+len(shard.entries)/3))
	}
	i := shard.place(key)
	for ; shard.entries[i].file != 0; i = shard.next(i) {
		known := &shard.entries[i]
		if known.trace == e.trace && known.run == e.run && (!file || known.file == e.file) {
			return known.file, false
		}
	}
	shard.entries[i] = e
	shard.count++
	return e.file, true
}

// any returns an entry of the same trace and run.
func (s *traceSet) any(e traceEntry) (found traceEntry, ok bool) {
	shard := s.shard(e.key())
	if len(shard.entries) == 0 {
		return found, false
	}
	for i := shard.place(e.key()); shard.entries[i].file != 0; i = shard.next(i) {
		if known := shard.entries[i]; known.trace == e.trace && known.run == e.run {
			return known, true
		}
	}
	return found, false
}

// resize moves the entries to a table of another size.
func (s *traceShard) resize(size int) {
	old := s.entries
	s.entries = make([]traceEntry, size)
	for _, e := range old {
		if e.file != 0 {
			s.put(e)
		}
	}
}

func (s *traceShard) put(e traceEntry) {
	i := s.place(e.key())
	for s.entries[i].file != 0 {
		i = s.next(i)
	}
	s.entries[i] = e
}

// keep leaves the entries that wanted reports. It may change their files.
func (s *traceSet) keep(wanted func(*traceEntry) bool) {
	for i := range s.shards {
		shard := &s.shards[i]
		left := 0
		for j := range shard.entries {
			if e := &shard.entries[j]; e.file != 0 {
				if wanted(e) {
					left++
				} else {
					e.file = 0
				}
			}
		}
		if left < shard.count {
			shard.count = left
			shard.resize(max(16, left*4/3+1)) // a hole would end the search for what is behind it
		}
	}
}

func (s *traceSet) count() (n int) {
	for i := range s.shards {
		n += s.shards[i].count
	}
	return n
}

func (s *traceSet) each(visit func(traceEntry)) {
	for i := range s.shards {
		for _, e := range s.shards[i].entries {
			if e.file != 0 {
				visit(e)
			}
		}
	}
}
