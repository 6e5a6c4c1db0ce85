package runidprocessor

import (
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// traceShard holds a part of the traces. Nearly all that it costs is waiting for memory, so it
// touches little of it: a new trace reads and writes one place in the index, one in the entries
// (mostly beside the one before), and when it pushes out another, that one's place in the index.
type traceShard struct {
	mu     sync.Mutex
	index  traceIndex
	chunks []*traceChunk // the entries; full but the last
	runs   []chunkRuns   // of each chunk
	size   uint32        // entries that were ever used
	free   []uint32      // entries that hold no trace
	hand   uint32        // the entry that is looked over next when one must go
	warm   uint64        // see warmUp
}

// chunkSize is how many entries are allocated together, 2 KiB of them: growing costs no copy and
// leaves no more than that empty. A power of two.
const chunkSize = 64

// traceChunk holds no pointers, so that the garbage collector does not look at 100,000 of them
// several times a second.
type traceChunk [chunkSize]traceEntry

type traceEntry struct {
	trace pcommon.TraceID // zero: the entry is free
	named time.Duration   // when a span last named the run
	hash  uint32
	run   uint8 // an index of the chunk's runs, or conflicting
	again bool  // a span named the run again since the hand passed
}

// conflicting stands for the run of a trace that named two.
const conflicting = 1<<8 - 1

// chunkRuns are the runs of a chunk's entries. Traces that come together are mostly of one run.
type chunkRuns []*string

// maxChunkRuns is how many runs a chunk's list holds before it is cleared of those that no entry has
// anymore. That leaves at most one an entry, so it is not done more often than every 32 new runs.
const maxChunkRuns = chunkSize * 3 / 2

// init makes room for n traces.
func (s *traceShard) init(n int) {
	s.index = newTraceIndex(n)
	chunks := make([]traceChunk, n/chunkSize)
	s.chunks = make([]*traceChunk, len(chunks))
	for i := range chunks {
		s.chunks[i] = &chunks[i]
	}
	s.runs = make([]chunkRuns, len(chunks))
}

func (s *traceShard) entry(i uint32) *traceEntry {
	return &s.chunks[i/chunkSize][i%chunkSize]
}

// run returns the run of an entry, nil if its trace named two.
func (s *traceShard) run(i uint32) *string {
	run := s.entry(i).run
	if run == conflicting {
		return nil
	}
	return s.runs[i/chunkSize][run]
}

// learn remembers the lessons whose numbers are in order.
func (s *traceShard) learn(lessons []lesson, order []uint8, runs []namedRun, now time.Duration, t *told) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warmUp(lessons, order, t.room == 0)
	for _, k := range order {
		l := &lessons[k]
		s.learnOne(l.trace, uint32(l.hash), &runs[l.run], now, t)
	}
}

// warmUp reads what the lessons will need: here the processor waits for all of it at once, later it
// would wait for one after the other.
func (s *traceShard) warmUp(lessons []lesson, order []uint8, full bool) {
	warm, victim := uint64(0), s.hand
	for _, k := range order {
		warm |= s.index.first(uint32(lessons[k].hash))
		if full && victim < s.size {
			warm |= s.index.first(s.entry(victim).hash)
			victim++
		}
	}
	s.warm = warm // keeps the compiler from leaving out the reads
}

func (s *traceShard) learnOne(trace pcommon.TraceID, hash uint32, run *namedRun, now time.Duration, t *told) {
	if i, known := s.find(trace, hash); known {
		e := s.entry(i)
		if known := s.run(i); known != nil && known != run.shared && *known != run.id {
			e.run = conflicting
			t.conflicts++
		}
		e.named, e.again = max(e.named, now), true
		return
	}
	i, ok := s.allot(t)
	if !ok {
		return
	}
	if run.shared == nil {
		run.shared = t.runs.share(run.id)
	}
	*s.entry(i) = traceEntry{trace: trace, named: now, hash: hash, run: s.runIndex(i/chunkSize, run.shared)}
	s.index.put(hash, i)
}

// find returns the entry of trace.
func (s *traceShard) find(trace pcommon.TraceID, hash uint32) (uint32, bool) {
	x := &s.index
	for at := hash & x.mask(); x.slots[at] != 0; at = (at + 1) & x.mask() {
		if slotHash(x.slots[at]) == hash && s.entry(slotEntry(x.slots[at])).trace == trace {
			return slotEntry(x.slots[at]), true
		}
	}
	return 0, false
}

// allot returns an entry for a new trace, at the cost of another of the shard if the memory is
// full. It is false if the shard has none to give, which takes ids that are far from random.
func (s *traceShard) allot(t *told) (uint32, bool) {
	if t.room == 0 {
		t.evicted++
		return s.evict()
	}
	t.room--
	if last := len(s.free) - 1; last >= 0 {
		i := s.free[last]
		s.free = s.free[:last]
		return i, true
	}
	if s.size == uint32(len(s.chunks)*chunkSize) {
		s.chunks = append(s.chunks, new(traceChunk))
		s.runs = append(s.runs, nil)
	}
	s.size++
	return s.size - 1, true
}

// evict forgets a trace and returns its entry. The hand goes round the entries in the order in
// which they came, and spares once those that were named again since it passed them.
func (s *traceShard) evict() (uint32, bool) {
	for range 2 * s.size {
		i := s.hand
		s.hand++
		if s.hand == s.size {
			s.hand = 0
		}
		e := s.entry(i)
		if e.trace.IsEmpty() {
			continue
		}
		if e.again {
			e.again = false
			continue
		}
		s.forget(i)
		return i, true
	}
	return 0, false
}

func (s *traceShard) forget(i uint32) {
	e := s.entry(i)
	s.index.remove(e.hash, i)
	*e = traceEntry{}
}

// expire forgets the traces that were not named for maxAge, and returns how many they were.
func (s *traceShard) expire(now, maxAge time.Duration) (forgotten int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.size {
		if e := s.entry(i); !e.trace.IsEmpty() && now-e.named >= maxAge {
			s.forget(i)
			s.free = append(s.free, i)
			forgotten++
		}
	}
	if forgotten > 0 {
		for chunk := range s.runs {
			s.dropUnusedRuns(uint32(chunk))
		}
	}
	return forgotten
}

// runIndex returns the index of run among the runs of a chunk.
func (s *traceShard) runIndex(chunk uint32, run *string) uint8 {
	runs := s.runs[chunk]
	if last := len(runs) - 1; last >= 0 && runs[last] == run {
		return uint8(last)
	}
	if len(runs) == maxChunkRuns {
		s.dropUnusedRuns(chunk)
		runs = s.runs[chunk]
	}
	s.runs[chunk] = append(runs, run)
	return uint8(len(runs))
}

// dropUnusedRuns leaves the runs of a chunk that one of its entries has.
func (s *traceShard) dropUnusedRuns(chunk uint32) {
	runs := s.runs[chunk]
	if len(runs) < 2 {
		return
	}
	var kept [maxChunkRuns]*string
	var movedTo [maxChunkRuns]uint8 // its index in kept + 1
	n := uint8(0)
	for i := range s.chunks[chunk] {
		e := &s.chunks[chunk][i]
		if e.trace.IsEmpty() || e.run == conflicting {
			continue
		}
		if movedTo[e.run] == 0 {
			kept[n] = runs[e.run]
			n++
			movedTo[e.run] = n
		}
		e.run = movedTo[e.run] - 1
	}
	clear(runs)
	s.runs[chunk] = append(runs[:0], kept[:n]...)
}
