package runidprocessor

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"
	"unique"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

const (
	// traceShards is how many locks the traces are spread over, so that concurrent requests seldom
	// meet. A power of two.
	traceShards = 64

	// shardedFrom is the max_traces from which on there is more than one shard: with fewer traces
	// a shard would hold so few that the one forgotten is not the oldest of all.
	shardedFrom = 16 * traceShards
)

// run is a run id, stored once however many traces name it: an id may take 256 bytes.
type run = unique.Handle[string]

// noRun stands for the run of a trace that named two.
var noRun run

// traceMemory remembers which run the spans of a trace named. It holds at most max traces: the one
// that was longest not named is forgotten first.
type traceMemory struct {
	shards []traceShard
	max    int64
	maxAge time.Duration

	remembered    atomic.Int64
	conflicts     atomic.Int64
	evictedByAge  atomic.Int64
	evictedBySize atomic.Int64
}

// traceShard holds a part of the traces, in a list from the one named last to the one that was
// longest not named. entries[0] is the end of the list on both sides.
type traceShard struct {
	mu      sync.Mutex
	index   map[pcommon.TraceID]uint32
	entries []traceEntry
	free    uint32 // the first of a list of free entries, linked by next; 0: none
}

type traceEntry struct {
	trace pcommon.TraceID
	run   run
	named time.Duration // when a span last named the run
	prev  uint32        // the entry named next after this one
	next  uint32        // the entry named next before this one
}

func newTraceMemory(maxTraces int, maxAge time.Duration) *traceMemory {
	n := 1
	if maxTraces >= shardedFrom {
		n = traceShards
	}
	m := &traceMemory{shards: make([]traceShard, n), max: int64(maxTraces), maxAge: maxAge}
	for i := range m.shards {
		m.shards[i].index = map[pcommon.TraceID]uint32{}
		m.shards[i].entries = make([]traceEntry, 1)
	}
	return m
}

func (m *traceMemory) shard(trace pcommon.TraceID) *traceShard {
	return &m.shards[hashTrace(trace)>>58&uint64(len(m.shards)-1)]
}

// hashTrace spreads trace ids. Both halves count: some producers fill only one.
func hashTrace(trace pcommon.TraceID) uint64 {
	h := binary.LittleEndian.Uint64(trace[:8]) ^ binary.LittleEndian.Uint64(trace[8:])
	return h * 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio: every bit reaches the highest ones
}

// learn remembers that a span of trace named r at the time now.
func (m *traceMemory) learn(trace pcommon.TraceID, r run, now time.Duration) {
	s := m.shard(trace)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(m, now)
	i, known := s.index[trace]
	if !known {
		i = s.add(m)
		if i == 0 {
			return
		}
		s.entries[i].trace, s.entries[i].run = trace, r
		s.index[trace] = i
	} else {
		s.unlink(i)
		if e := &s.entries[i]; e.run != r && e.run != noRun {
			e.run = noRun
			m.conflicts.Add(1)
		}
	}
	s.entries[i].named = max(now, s.entries[s.entries[0].next].named)
	s.linkFirst(i)
}

// lookup returns the run of trace: ok is false if the trace is not remembered, and the run is noRun
// if it named two.
func (m *traceMemory) lookup(trace pcommon.TraceID, now time.Duration) (r run, ok bool) {
	s := m.shard(trace)
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.index[trace]
	if !ok || m.expired(&s.entries[i], now) {
		return noRun, false
	}
	return s.entries[i].run, true
}

// expire forgets the traces that are too old at the time now.
func (m *traceMemory) expire(now time.Duration) {
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		s.expire(m, now)
		s.mu.Unlock()
	}
}

func (m *traceMemory) expired(e *traceEntry, now time.Duration) bool {
	return now-e.named >= m.maxAge
}

func (s *traceShard) expire(m *traceMemory, now time.Duration) {
	for i := s.entries[0].prev; i != 0 && m.expired(&s.entries[i], now); i = s.entries[0].prev {
		s.remove(i)
		m.remembered.Add(-1)
		m.evictedByAge.Add(1)
	}
}

// add returns a free entry, at the cost of the shard's oldest if the memory is full; 0 if the
// shard has none to give, as may happen where trace ids are far from random.
func (s *traceShard) add(m *traceMemory) uint32 {
	if m.remembered.Add(1) > m.max {
		m.remembered.Add(-1)
		m.evictedBySize.Add(1)
		oldest := s.entries[0].prev
		if oldest == 0 {
			return 0
		}
		s.remove(oldest)
	}
	if i := s.free; i != 0 {
		s.free = s.entries[i].next
		return i
	}
	if len(s.entries) == cap(s.entries) {
		// By an eighth, where append takes a quarter: free room is part of the bytes a trace costs.
		grown := make([]traceEntry, len(s.entries), len(s.entries)+len(s.entries)/8+16)
		copy(grown, s.entries)
		s.entries = grown
	}
	s.entries = append(s.entries, traceEntry{})
	return uint32(len(s.entries) - 1)
}

func (s *traceShard) remove(i uint32) {
	s.unlink(i)
	delete(s.index, s.entries[i].trace)
	s.entries[i] = traceEntry{next: s.free}
	s.free = i
}

func (s *traceShard) unlink(i uint32) {
	e := &s.entries[i]
	s.entries[e.prev].next = e.next
	s.entries[e.next].prev = e.prev
}

func (s *traceShard) linkFirst(i uint32) {
	first := s.entries[0].next
	s.entries[i].prev, s.entries[i].next = 0, first
	s.entries[first].prev = i
	s.entries[0].next = i
}
