package runidprocessor

import (
	"hash/maphash"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

const (
	// traceShards is how many locks the traces are spread over, so that concurrent requests seldom
	// meet: one of 200 spans holds each for 0.4 us of the 600 us that it takes. A power of two. With more
	// of them, fewer of a request's traces share a lock, and fewer waits for memory are one.
	traceShards = 8

	// shardedFrom is the max_traces from which on there is more than one shard: with fewer traces
	// a shard would hold so few that what it forgets is far from the oldest of all.
	shardedFrom = 128 * traceShards
)

// preallocated is for how many traces there is room from the start, if that many may be remembered at
// all: up to 6 MB. The default, 100,000, is full within minutes. To grow into it was work for requests;
// and a heap of a few MB has the garbage collector run 40 times a second, which these few make fewer.
const preallocated = 1 << 17

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

// lesson is that a span of a trace, whose hash is given, named a run.
type lesson struct {
	trace pcommon.TraceID
	hash  uint64
	run   decision
}

// maxLessons is how many lessons a request gathers before it tells the memory of them.
const maxLessons = 64

// told counts what the lessons of one request did to the memory. The memory's own counters are
// shared by all requests: they are touched once for all lessons.
type told struct {
	room      int64 // how many traces more may be remembered
	conflicts int64
	evicted   int64
	runs      *sharedRuns
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
		m.shards[i].init(min(maxTraces, preallocated) / n)
	}
	return m
}

func (m *traceMemory) hash(trace pcommon.TraceID) uint64 {
	return maphash.Bytes(m.seed, trace[:])
}

func (m *traceMemory) shardOf(hash uint64) int {
	return int(hash >> 32 % uint64(len(m.shards)))
}

// learn remembers lessons, at most maxLessons, of the time now. Their runs are indices of runs.
func (m *traceMemory) learn(lessons []lesson, runs []namedRun, now time.Duration) {
	t := told{room: m.takeRoom(int64(len(lessons))), runs: &m.runs}
	// Shard by shard, in each the lessons in their order (a counting sort).
	var from [traceShards + 1]uint16
	var order [maxLessons]uint8
	for i := range lessons {
		from[m.shardOf(lessons[i].hash)]++
	}
	end := uint16(0)
	for i := range m.shards {
		from[i], end = end, end+from[i]
	}
	for i := range lessons {
		shard := m.shardOf(lessons[i].hash)
		order[from[shard]] = uint8(i)
		from[shard]++
	}
	begin := uint16(0)
	for i := range m.shards {
		if from[i] > begin {
			m.shards[i].learn(lessons, order[begin:from[i]], runs, now, &t)
		}
		begin = from[i]
	}
	if t.room > 0 {
		m.remembered.Add(-t.room)
	}
	if t.evicted > 0 {
		m.evictedBySize.Add(t.evicted)
	}
	if t.conflicts > 0 {
		m.conflicts.Add(t.conflicts)
	}
}

// takeRoom returns for how many traces more, of wanted, there is room, and takes it.
func (m *traceMemory) takeRoom(wanted int64) int64 {
	for {
		remembered := m.remembered.Load()
		room := min(wanted, m.max-remembered)
		if room <= 0 || m.remembered.CompareAndSwap(remembered, remembered+room) {
			return max(room, 0)
		}
	}
}

// lookup returns the run of trace: ok is false if the trace is not remembered, and run is nil if
// it named two.
func (m *traceMemory) lookup(trace pcommon.TraceID, now time.Duration) (run *string, ok bool) {
	hash := m.hash(trace)
	s := &m.shards[m.shardOf(hash)]
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.find(trace, uint32(hash))
	if !ok || now-s.entry(i).named >= m.maxAge {
		return nil, false
	}
	return s.run(i), true
}

// expire forgets the traces that are too old at the time now.
func (m *traceMemory) expire(now time.Duration) {
	for i := range m.shards {
		n := m.shards[i].expire(now, m.maxAge)
		m.remembered.Add(-n)
		m.evictedByAge.Add(n)
	}
}
