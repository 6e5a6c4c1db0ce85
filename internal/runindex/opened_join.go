package runindex

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/runspan/runspan/internal/runid"
	"github.com/runspan/runspan/internal/tracefile"
)

// noRunIndex knows which lines hold spans of no run, by trace, for all opened runs. It is made when
// the first run is opened, and only of the trace ids that stand in those lines.
type noRunIndex struct {
	mu       sync.Mutex
	restarts uint64 // how often files were replaced
	mark     Mark
	pending  []LineRef // not read yet
	lines    []LineRef
	entries  []noRunEntry
	byTrace  map[[16]byte][]uint32 // rows of entries
	full     bool
	buf      []byte

	bytes atomic.Int64
}

// noRunEntry says that a line holds a span without a run of a trace.
type noRunEntry struct {
	trace [16]byte
	line  uint32
}

const (
	// noRunShare is the part of the memory limit that noRunIndex may take.
	noRunShare = 4

	// joinsChecked is for how many traces a look at a run asks whether they are still of one run alone.
	joinsChecked = 1000
)

// joinState is which lines of no run an opened run has looked at.
type joinState struct {
	restarts uint64 // of the index
	entries  int    // so many of the index
	traces   int    // so many of the run's own
	todo     []joinLine
	joined   map[[16]byte]bool // traces of which spans without a run may count here
	order    [][16]byte        // the same
	check    int               // where in order the next check begins
	checked  uint64            // version of the snapshot for which joined is right
}

// joinLine is a line that holds spans of no run, of these traces.
type joinLine struct {
	ref    LineRef
	row    uint32
	traces map[[16]byte]bool
}

// update reads the lines of no run that are new.
func (n *noRunIndex) update(ctx context.Context, r *Runs) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for !n.full {
		if len(n.pending) == 0 {
			lines, mark, reset := r.source.Lines("", n.mark)
			if reset {
				n.begin()
				return ErrGone
			}
			n.mark, n.pending = mark, lines
			if len(lines) == 0 {
				return nil
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := r.source.ReadLine(n.pending[0], n.buf[:0])
		if err != nil {
			if errors.Is(err, ErrGone) {
				n.begin()
			}
			return err
		}
		n.buf = data
		n.addLine(n.pending[0], data)
		n.pending = n.pending[1:]
		took := int64(len(n.lines))*lineRefBytes + int64(len(n.entries))*24 + int64(len(n.byTrace))*72
		n.bytes.Store(took)
		n.full = took > r.opts.MaxMemory/noRunShare
	}
	return nil
}

// begin forgets everything: files were replaced.
func (n *noRunIndex) begin() {
	n.restarts++
	n.mark, n.pending = Mark{}, nil
	n.lines, n.entries, n.byTrace, n.full = nil, nil, nil, false
	n.bytes.Store(0)
}

func (n *noRunIndex) addLine(ref LineRef, data []byte) {
	if n.byTrace == nil {
		n.byTrace = map[[16]byte][]uint32{}
	}
	line := uint32(len(n.lines))
	n.lines = append(n.lines, ref)
	for _, trace := range traceIDs(data) {
		at := n.byTrace[trace]
		if len(at) > 0 && n.entries[at[len(at)-1]].line == line {
			continue
		}
		n.byTrace[trace] = append(at, uint32(len(n.entries)))
		n.entries = append(n.entries, noRunEntry{trace: trace, line: line})
	}
}

var traceIDKey = []byte(`"traceId"`)

// traceIDs returns the trace ids that stand in a line, those of links among them: whoever reads the
// line sees which of them are of spans.
func traceIDs(line []byte) [][16]byte {
	var ids [][16]byte
	for {
		at := bytes.Index(line, traceIDKey)
		if at < 0 {
			return ids
		}
		line = bytes.TrimLeft(line[at+len(traceIDKey):], " \t:")
		if len(line) < 34 || line[0] != '"' || line[33] != '"' {
			continue
		}
		var id [16]byte
		if _, err := hex.Decode(id[:], line[1:33]); err != nil {
			continue
		}
		if len(ids) == 0 || ids[len(ids)-1] != id {
			ids = append(ids, id)
		}
	}
}

// joinsChanged reports whether a trace of which spans without a run count here is one of several
// runs by now. Where there are many, it asks for some of them at each look.
func (o *OpenedRun) joinsChanged() bool {
	j := &o.load.joins
	version := o.runs.source.Snapshot().Version
	if j.checked == version {
		return false
	}
	j.checked = version
	for range min(joinsChecked, len(j.order)) {
		if j.check >= len(j.order) {
			j.check = 0
		}
		if !o.only(j.order[j.check]) {
			return true
		}
		j.check++
	}
	return false
}

// unassigned reports whether a run id says that there is none: the run_id processor has found none for
// the span.
func unassigned(run string) bool { return run == "" || run == runid.Unassigned }

// only reports whether no other run names a trace.
func (o *OpenedRun) only(trace [16]byte) bool {
	return !slices.ContainsFunc(o.runs.source.RunsOfTrace(trace), func(run string) bool { return run != o.id })
}

// join adds the spans of no run whose trace is one of this run alone.
func (o *OpenedRun) join(ctx context.Context) (full bool, err error) {
	if unassigned(o.id) {
		return false, nil
	}
	if err := o.runs.noRun.update(ctx, o.runs); err != nil {
		return false, err
	}
	if err := o.findJoins(&o.runs.noRun); err != nil {
		return false, err
	}
	j := &o.load.joins
	for len(j.todo) > 0 {
		if !o.runs.charge(o, o.bytesNow()) {
			return true, nil
		}
		line := j.todo[0]
		err := o.readLine(ctx, line.ref, func(s *tracefile.RunSpan) (add, joined bool) {
			return unassigned(s.Run) && line.traces[s.TraceID()], true
		})
		if err != nil {
			return false, err
		}
		j.todo = j.todo[1:]
	}
	return false, nil
}

// findJoins adds to the lines that are to be read those with a new trace of the run, and the new ones
// with a trace of it.
func (o *OpenedRun) findJoins(n *noRunIndex) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	j := &o.load.joins
	if j.restarts != n.restarts {
		if len(j.joined) > 0 {
			return ErrGone
		}
		*j = joinState{restarts: n.restarts}
	}
	if j.joined == nil {
		j.joined = map[[16]byte]bool{}
	}
	lines := map[uint32]int{}
	add := func(e noRunEntry) {
		if !j.joined[e.trace] && !o.only(e.trace) {
			return
		}
		if !j.joined[e.trace] {
			j.joined[e.trace] = true
			j.order = append(j.order, e.trace)
		}
		at, ok := lines[e.line]
		if !ok {
			at = len(j.todo)
			lines[e.line] = at
			j.todo = append(j.todo, joinLine{ref: n.lines[e.line], row: e.line, traces: map[[16]byte]bool{}})
		}
		j.todo[at].traces[e.trace] = true
	}
	for _, e := range n.entries[j.entries:] {
		if row, ok := o.byTrace[e.trace]; ok && int(row) < j.traces {
			add(e)
		}
	}
	if len(n.entries) > 0 {
		for i := range o.traces[j.traces:] {
			for _, row := range n.byTrace[o.traces[j.traces+i].id] {
				add(n.entries[row])
			}
		}
	}
	j.entries, j.traces = len(n.entries), len(o.traces)
	slices.SortFunc(j.todo, func(a, b joinLine) int { return cmp.Compare(a.row, b.row) })
	return nil
}
