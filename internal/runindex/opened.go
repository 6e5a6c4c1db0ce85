package runindex

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"sync"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/runspan/runspan/internal/tracefile"
)

// OpenedRun is one run in memory: a row for each span in compact columns, about 80 bytes a span. What
// is not in them (attributes, events, links) is read back from the file when somebody asks for it.
type OpenedRun struct {
	runs       *Runs
	id         string
	generation uint64 // tells it from the same run opened before

	// loading is held by whoever adds lines. It is a channel so that a request can give up waiting.
	loading chan struct{}
	load    loadState

	// mu guards what follows. A query holds it while it looks at the columns, not while it answers.
	mu        sync.Mutex
	changes   uint64 // grows with every change
	restarts  uint64 // how often it was begun anew
	spansRead int64  // copies among them
	columns

	search searchCache
	stages stageCache
}

// columns are the spans of a run, their traces, and the tables that they refer to.
type columns struct {
	// One of each for a row.
	trace   []uint32 // row of traces
	span    []uint64 // its id, 0 where it has none
	parent  []uint64 // the id of its parent, 0 for a root
	start   []int64  // unix ns
	took    []int64  // ns, 0 where it ends before it starts
	stage   []uint32 // row of stageTable
	process []uint32 // row of processTable
	line    []uint32 // row of lines
	before  []int32  // the row before it in its trace, -1 for the first
	above   []int32  // the row of its parent, noParent or parentMissing
	flags   []uint8

	seed uint64
	byID []uint32 // hash table: row+1 by trace and span id, 0 where it is free

	traces  []traceRow
	byTrace map[[16]byte]uint32
	dirty   []uint32 // traces whose rows changed since settle

	stageTable   []stageRow
	byStage      map[stageRow]uint32
	processTable []processRow
	byProcess    map[processRow]uint32
	services     []string
	byService    map[string]uint32
	textBytes    int64 // of the names in the tables

	lines  []LineRef
	copies map[uint32]int32 // further copies of a row's span
	joined int64            // spans of no run that count here
	pairs  map[processPair]*pairStat

	orphans, rootless int64 // of all traces
}

const (
	noParent      = int32(-1)
	parentMissing = int32(-2)
)

const (
	flagError  = 1 << iota // status is an error
	flagPaired             // its parent is counted in pairs
	flagJoined             // it names no run
	flagWalk               // is on the path that settle follows
	flagDone               // settle knows that it is below a root or an orphan
)

type traceRow struct {
	id         [16]byte
	last       int32 // row of its latest span to arrive
	spans      int32
	errors     int32
	orphans    int32
	top        int32 // row of the root, or where there is none of the earliest orphan
	hasRoot    bool
	dirty      bool
	start, end int64
	services   uint64 // a bit for each of the first 63 services, the highest for all others
}

type stageRow struct {
	name    string
	service uint32
	kind    uint8
}

type processRow struct {
	name    string
	namedBy string
	service uint32
}

// processPair is two rows of processTable.
type processPair struct{ child, parent uint32 }

// pairStat says how spans of one process lie in those of another, their parents.
type pairStat struct {
	pairs, outside int64
	before, after  int64 // at most, ns
	example        int32 // row
}

const (
	rowBytes   = 4 + 8 + 8 + 8 + 8 + 4 + 4 + 4 + 4 + 4 + 1
	traceBytes = 80 + 40 // a traceRow and its place in byTrace

	lineRefBytes = 40
)

func newColumns() columns {
	return columns{
		seed:      rand.Uint64(), //nolint:gosec // keeps crafted ids from colliding; no secret
		byID:      make([]uint32, 64),
		byTrace:   map[[16]byte]uint32{},
		byStage:   map[stageRow]uint32{},
		byProcess: map[processRow]uint32{},
		byService: map[string]uint32{},
		copies:    map[uint32]int32{},
		pairs:     map[processPair]*pairStat{},
	}
}

// bytes returns what the columns take in memory.
func (c *columns) bytes() int64 {
	return int64(cap(c.trace))*rowBytes + int64(len(c.byID))*4 +
		int64(cap(c.traces))*traceBytes + int64(cap(c.lines))*lineRefBytes +
		int64(len(c.copies))*16 + int64(len(c.pairs))*80 +
		int64(len(c.stageTable))*200 + int64(len(c.processTable)+len(c.services))*96 + 2*c.textBytes // and a Stage for each
}

// addSpan adds a span that stands on a line. One that is there already is counted as a copy.
func (c *columns) addSpan(s *tracefile.RunSpan, process tracefile.Process, line uint32, joined bool) {
	trace := c.traceOf(s.TraceID())
	id := spanIDOf(s.SpanID())
	if row := c.find(trace, id); row >= 0 {
		c.copies[uint32(row)]++
		return
	}
	row := int32(len(c.trace))
	t := &c.traces[trace]
	service := c.serviceOf(s.Service)
	start, end := unixNano(s.StartTimestamp()), unixNano(s.EndTimestamp())
	if start == 0 { // not known: fifty years of duration would hide all others
		start = end
	}
	flags := uint8(0)
	if s.Status().Code() == ptrace.StatusCodeError {
		flags |= flagError
		t.errors++
	}
	if joined {
		flags |= flagJoined
		c.joined++
	}
	c.trace = append(c.trace, trace)
	c.span = append(c.span, id)
	c.parent = append(c.parent, spanIDOf(s.ParentSpanID()))
	c.start = append(c.start, start)
	c.took = append(c.took, max(0, end-start))
	c.stage = append(c.stage, c.stageOf(s.Name(), service, s.Kind()))
	c.process = append(c.process, c.processOf(process, service))
	c.line = append(c.line, line)
	c.before = append(c.before, t.last)
	c.above = append(c.above, noParent)
	c.flags = append(c.flags, flags)
	if t.spans == 0 || start < t.start {
		t.start = start
	}
	t.end = max(t.end, end, start)
	t.last = row
	t.spans++
	t.services |= serviceBit(service)
	if !t.dirty {
		t.dirty = true
		c.dirty = append(c.dirty, trace)
	}
	c.remember(row)
}

func serviceBit(service uint32) uint64 { return 1 << min(service, 63) }

func unixNano(at pcommon.Timestamp) int64 { return int64(min(at, math.MaxInt64)) }

func spanIDOf(id pcommon.SpanID) uint64 { return binary.BigEndian.Uint64(id[:]) }

func spanIDBytes(id uint64) pcommon.SpanID {
	var b pcommon.SpanID
	binary.BigEndian.PutUint64(b[:], id)
	return b
}

func (c *columns) traceOf(id pcommon.TraceID) uint32 {
	row, ok := c.byTrace[id]
	if !ok {
		row = uint32(len(c.traces))
		c.byTrace[id] = row
		c.traces = append(c.traces, traceRow{id: id, last: -1, top: -1})
	}
	return row
}

func (c *columns) serviceOf(name string) uint32 {
	row, ok := c.byService[name]
	if !ok {
		name = strings.Clone(name) // a part of a line would keep the line
		row = uint32(len(c.services))
		c.byService[name] = row
		c.services = append(c.services, name)
		c.textBytes += int64(len(name))
	}
	return row
}

func (c *columns) stageOf(name string, service uint32, kind ptrace.SpanKind) uint32 {
	key := stageRow{name: name, service: service, kind: uint8(min(max(kind, 0), 5))}
	row, ok := c.byStage[key]
	if !ok {
		key.name = strings.Clone(name)
		row = uint32(len(c.stageTable))
		c.byStage[key] = row
		c.stageTable = append(c.stageTable, key)
		c.textBytes += int64(len(name))
	}
	return row
}

func (c *columns) processOf(p tracefile.Process, service uint32) uint32 {
	key := processRow{name: p.Name, namedBy: p.NamedBy, service: service}
	row, ok := c.byProcess[key]
	if !ok {
		key.name = strings.Clone(key.name)
		row = uint32(len(c.processTable))
		c.byProcess[key] = row
		c.processTable = append(c.processTable, key)
		c.textBytes += int64(len(key.name))
	}
	return row
}

// find returns the row of a span, -1 where there is none. Spans without an id are never found: each
// of them is one of its own.
func (c *columns) find(trace uint32, id uint64) int32 {
	if id == 0 {
		return -1
	}
	mask := uint64(len(c.byID) - 1)
	for at := c.hash(trace, id); ; at++ {
		slot := c.byID[at&mask]
		if slot == 0 {
			return -1
		}
		if row := slot - 1; c.span[row] == id && c.trace[row] == trace {
			return int32(row)
		}
	}
}

// remember adds a row to the hash table.
func (c *columns) remember(row int32) {
	if len(c.trace)*8 > len(c.byID)*5 { // at most five eighths are taken
		c.byID = make([]uint32, 2*len(c.byID))
		for r := range row {
			c.put(r)
		}
	}
	c.put(row)
}

func (c *columns) put(row int32) {
	if c.span[row] == 0 {
		return
	}
	mask := uint64(len(c.byID) - 1)
	at := c.hash(c.trace[row], c.span[row])
	for c.byID[at&mask] != 0 {
		at++
	}
	c.byID[at&mask] = uint32(row) + 1
}

func (c *columns) hash(trace uint32, id uint64) uint64 {
	h := (id ^ c.seed) * 0x9e3779b97f4a7c15
	h ^= h >> 32
	h = (h ^ uint64(trace) ^ c.seed>>7) * 0xd6e8feb86659fd93
	return h ^ h>>32
}

// rowsOf returns the rows of a trace, ascending.
func (c *columns) rowsOf(trace uint32) []int32 {
	t := &c.traces[trace]
	rows := make([]int32, t.spans)
	at := len(rows)
	for row := t.last; row >= 0; row = c.before[row] {
		at--
		rows[at] = row
	}
	return rows
}

// endOf returns when a span ends, unix ns.
func (c *columns) endOf(row int32) int64 { return c.start[row] + c.took[row] }

func (c *columns) serviceOfRow(row int32) uint32 { return c.stageTable[c.stage[row]].service }

// window is from the earliest start to the latest end of some spans.
type window struct {
	first, last int64
	any         bool
}

func (w *window) add(start, end int64) {
	if !w.any {
		w.first, w.last, w.any = start, end, true
		return
	}
	w.first, w.last = min(w.first, start), max(w.last, end)
}
