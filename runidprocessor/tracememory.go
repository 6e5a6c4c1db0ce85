package runidprocessor

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

const (
	// traceShards is how many locks the traces are spread over, so that concurrent requests seldom
	// meet. A power of two.
	traceShards = 64

	// shardedFrom is the max_traces from which on there is more than one shard: with fewer traces
	// a shard would hold so few that what it forgets is far from the oldest of all.
	shardedFrom = 16 * traceShards
)

// traceMemory remembers which run the spans of a trace named. It holds at most max traces; those
// that were not named again since they were last looked over are forgotten first.
type traceMemory struct {
	seed   maphash.Seed // a fixed hash would let a client choose ids that make the memory slow
	shards []traceShard
	runs   sharedRuns
	max    int64
	maxAge time.Duration

	remembered    atomic.Int64
	conflicts     atomic.Int64
	evictedByAge  atomic.Int64
	evictedBySize atomic.Int64
}

// traceShard holds a part of the traces. Nearly all that it costs is waiting for memory, so it
// touches little of it: a new trace reads and writes one place in the index, one in the entries
// (mostly beside the one before), and when it pushes out another, that one's place in the index.
type traceShard struct {
	mu      sync.Mutex
	index   traceIndex
	entries []traceEntry
	free    []uint32 // entries that hold no trace
	hand    int      // the entry that is looked over next when one must go
}

type traceEntry struct {
	trace pcommon.TraceID // zero: the entry is free
	run   *string         // nil: the trace named two
	named time.Duration   // when a span last named the run; odd: since the hand passed
}

func newTraceMemory(maxTraces int, maxAge time.Duration) *traceMemory {
	n := 1
	if maxTraces >= shardedFrom {
		n = traceShards
	}
	m := &traceMemory{
		seed:   maphash.MakeSeed(),
		shards: make([]traceShard, n),
		max:    int64(maxTraces),
		maxAge: maxAge,
	}
	m.runs.seed = m.seed
	for i := range m.shards {
		m.shards[i].index = newTraceIndex()
	}
	return m
}

func (m *traceMemory) hash(trace pcommon.TraceID) uint64 {
	return maphash.Bytes(m.seed, trace[:])
}

func (m *traceMemory) shard(hash uint64) *traceShard {
	return &m.shards[hash>>32%uint64(len(m.shards))]
}

// learn remembers that a span of trace, whose hash is given, named run at the time now.
func (m *traceMemory) learn(trace pcommon.TraceID, hash uint64, run *namedRun, now time.Duration) {
	s := m.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	if i, known := s.find(trace, hash); known {
		e := &s.entries[i]
		if e.run != nil && e.run != run.shared && *e.run != run.id {
			e.run = nil
			m.conflicts.Add(1)
		}
		e.named = max(e.named, now) | 1
		return
	}
	i, ok := s.allot(m)
	if !ok {
		return
	}
	if run.shared == nil {
		run.shared = m.runs.share(run.id)
	}
	s.entries[i] = traceEntry{trace: trace, run: run.shared, named: now &^ 1}
	s.index.put(uint32(hash), i)
}

// lookup returns the run of trace: ok is false if the trace is not remembered, and run is nil if
// it named two.
func (m *traceMemory) lookup(trace pcommon.TraceID, now time.Duration) (run *string, ok bool) {
	hash := m.hash(trace)
	s := m.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.find(trace, hash)
	if !ok || m.expired(&s.entries[i], now) {
		return nil, false
	}
	return s.entries[i].run, true
}

// expire forgets the traces that are too old at the time now.
func (m *traceMemory) expire(now time.Duration) {
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		for i := range s.entries {
			if e := &s.entries[i]; !e.trace.IsEmpty() && m.expired(e, now) {
				s.forget(m, uint32(i))
				s.free = append(s.free, uint32(i))
				m.remembered.Add(-1)
				m.evictedByAge.Add(1)
			}
		}
		s.mu.Unlock()
	}
}

func (m *traceMemory) expired(e *traceEntry, now time.Duration) bool {
	return now-e.named >= m.maxAge
}

// find returns the entry of trace.
func (s *traceShard) find(trace pcommon.TraceID, hash uint64) (uint32, bool) {
	for i := range s.index.like(uint32(hash)) {
		if s.entries[i].trace == trace {
			return i, true
		}
	}
	return 0, false
}

// allot returns an entry for a new trace, at the cost of another of the shard if the memory is
// full. It is false if the shard has none to give, which takes ids that are far from random.
func (s *traceShard) allot(m *traceMemory) (uint32, bool) {
	if m.remembered.Add(1) > m.max {
		m.remembered.Add(-1)
		m.evictedBySize.Add(1)
		return s.evict(m)
	}
	if last := len(s.free) - 1; last >= 0 {
		i := s.free[last]
		s.free = s.free[:last]
		return i, true
	}
	if len(s.entries) == cap(s.entries) {
		// By an eighth, where append takes a quarter: free room is part of the bytes a trace costs.
		grown := make([]traceEntry, len(s.entries), len(s.entries)+len(s.entries)/8+16)
		copy(grown, s.entries)
		s.entries = grown
	}
	s.entries = append(s.entries, traceEntry{})
	return uint32(len(s.entries) - 1), true
}

// evict forgets a trace and returns its entry. The hand goes round the entries in the order in
// which they came, and spares once those that were named again since it passed them.
func (s *traceShard) evict(m *traceMemory) (uint32, bool) {
	for range 2 * len(s.entries) {
		i := s.hand
		s.hand = (i + 1) % len(s.entries)
		e := &s.entries[i]
		if e.trace.IsEmpty() {
			continue
		}
		if e.named&1 == 1 {
			e.named &^= 1
			continue
		}
		s.forget(m, uint32(i))
		return uint32(i), true
	}
	return 0, false
}

func (s *traceShard) forget(m *traceMemory, i uint32) {
	s.index.remove(uint32(m.hash(s.entries[i].trace)), i)
	s.entries[i] = traceEntry{}
}
