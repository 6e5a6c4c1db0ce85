package runindex

import (
	"cmp"
	"slices"
)

// TraceTree is one trace in the order of its tree: a row for each span, before its children, which
// stand by start.
type TraceTree struct {
	TraceID    [16]byte
	Start      int64 // unix ns
	DurationNS int64
	Stages     []TreeStage
	Processes  []TreeProcess

	// One of each for a row.
	SpanID  []uint64
	Parent  []int32 // how many rows above the parent stands; 0 for a root, -1 where it is missing
	Stage   []int32 // row of Stages
	Process []int32 // row of Processes
	StartNS []int64 // from Start
	TookNS  []int64

	Errors     []int32 // rows
	Orphans    []int32 // rows
	Duplicates int64   // copies that are left out
	Cut        int64   // spans that are left out because there are too many
}

// TreeStage is a name of spans.
type TreeStage struct {
	Name    string `json:"name"`
	Service string `json:"service"`
	Kind    string `json:"kind"`
}

// TreeProcess is a process of spans.
type TreeProcess struct {
	Process string `json:"process"`
	Service string `json:"service"`
}

var kinds = []string{"unspecified", "internal", "server", "client", "producer", "consumer"}

// Trace returns the spans of a service in a trace, "" for all; nil where the run has no such trace.
// Where spans are left out, their children stand below the nearest ancestor that is not.
func (o *OpenedRun) Trace(id [16]byte, service string) *TraceTree {
	var tree *TraceTree
	o.lookAt(func(c *columns) {
		trace, ok := c.byTrace[id]
		if !ok || !c.hasService(trace, c.filter(service)) {
			return
		}
		tree = c.tree(trace, c.filter(service), o.runs.opts.MaxTraceSpans)
	})
	return tree
}

// tree brings a trace in order. Rows of the columns are told by their position among those of the
// trace, so that what is needed is as large as the trace and not as the run.
func (c *columns) tree(trace uint32, f serviceFilter, most int) *TraceTree {
	rows := c.rowsOf(trace)
	t := &TraceTree{TraceID: c.traces[trace].id}
	if !f.all {
		rows = slices.DeleteFunc(rows, func(row int32) bool { return !f.passes(c.serviceOfRow(row)) })
	}
	above := c.aboveAmong(rows)
	sorted := make([]int32, len(rows)) // positions in rows
	var all window
	for i, row := range rows {
		sorted[i] = int32(i)
		all.add(c.start[row], c.endOf(row))
		t.Duplicates += int64(c.copies[uint32(row)])
	}
	slices.SortFunc(sorted, func(a, b int32) int {
		return cmp.Or(cmp.Compare(c.start[rows[a]], c.start[rows[b]]), cmp.Compare(c.took[rows[b]], c.took[rows[a]]), cmp.Compare(a, b))
	})
	t.Start, t.DurationNS = all.first, all.last-all.first
	t.Cut = int64(max(0, len(rows)-most))
	t.fill(c, rows, treeOrder(sorted, above, min(most, len(rows))), above)
	return t
}

// aboveAmong returns for each of the rows the position of its nearest ancestor among them, noParent,
// or parentMissing.
func (c *columns) aboveAmong(rows []int32) []int32 {
	above := make([]int32, len(rows))
	for i, row := range rows {
		at := c.above[row]
		for at >= 0 {
			if position, ok := slices.BinarySearch(rows, at); ok {
				at = int32(position)
				break
			}
			at = c.above[at]
		}
		above[i] = at
	}
	return above
}

// treeOrder returns the positions in the order of the tree, the first n of them. sorted are all
// positions by start.
func treeOrder(sorted, above []int32, n int) []int32 {
	// first[p] and after[p] are lists of the children of p; the last of both is that of the top.
	top := int32(len(above))
	first, after := make([]int32, top+1), make([]int32, top)
	for i := range first {
		first[i] = -1
	}
	for _, p := range slices.Backward(sorted) {
		parent := above[p]
		if parent < 0 {
			parent = top
		}
		after[p] = first[parent]
		first[parent] = p
	}
	ordered := make([]int32, 0, n)
	path := []int32{first[top]}
	for len(path) > 0 && len(ordered) < n {
		p := path[len(path)-1]
		if p < 0 {
			path = path[:len(path)-1]
			continue
		}
		ordered = append(ordered, p)
		path[len(path)-1] = after[p]
		path = append(path, first[p])
	}
	return ordered
}

func (t *TraceTree) fill(c *columns, rows, ordered, above []int32) {
	n := len(ordered)
	t.SpanID, t.StartNS, t.TookNS = make([]uint64, n), make([]int64, n), make([]int64, n)
	t.Parent, t.Stage, t.Process = make([]int32, n), make([]int32, n), make([]int32, n)
	t.Errors, t.Orphans = []int32{}, []int32{}
	stages, processes := map[uint32]int32{}, map[uint32]int32{}
	at := make([]int32, len(rows)) // where a position stands in the order
	for i, p := range ordered {
		row := rows[p]
		at[p] = int32(i)
		t.SpanID[i], t.StartNS[i], t.TookNS[i] = c.span[row], c.start[row]-t.Start, c.took[row]
		switch {
		case above[p] >= 0:
			t.Parent[i] = int32(i) - at[above[p]]
		case above[p] == parentMissing:
			t.Parent[i] = -1
			t.Orphans = append(t.Orphans, int32(i))
		}
		if c.flags[row]&flagError != 0 {
			t.Errors = append(t.Errors, int32(i))
		}
		stage, ok := stages[c.stage[row]]
		if !ok {
			stage = int32(len(t.Stages))
			stages[c.stage[row]] = stage
			s := c.stageTable[c.stage[row]]
			t.Stages = append(t.Stages, TreeStage{Name: s.name, Service: c.services[s.service], Kind: kinds[s.kind]})
		}
		process, ok := processes[c.process[row]]
		if !ok {
			process = int32(len(t.Processes))
			processes[c.process[row]] = process
			p := c.processTable[c.process[row]]
			t.Processes = append(t.Processes, TreeProcess{Process: p.name, Service: c.services[p.service]})
		}
		t.Stage[i], t.Process[i] = stage, process
	}
}
