package catalogue

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/runspan/runspan/test/simulation"
)

// tree is a trace as columns.
type tree struct {
	state
	Start      time.Time
	DurationUS int64 `json:"duration_us"`
	Spans      int
	Stages     []struct{ Name, Service, Kind string }
	Processes  []struct{ Process, Service string }
	Columns    struct {
		SpanID     string `json:"span_id"`
		Parent     []int
		Stage      []int
		Process    []int
		StartUS    []int64 `json:"start_us"`
		DurationUS []int64 `json:"duration_us"`
	}
	Errors, Orphans []int
}

// node is a span of a tree.
type node struct {
	Parent, Name, Service, Kind, Process string
	StartUS, DurationUS                  int64 // the start from that of the trace
	Error, Orphan                        bool
}

// nodes reads the columns; an orphan's parent is "".
func (tr *tree) nodes() (map[string]node, error) {
	ids, err := base64.RawStdEncoding.DecodeString(tr.Columns.SpanID)
	if err != nil {
		return nil, err
	}
	c := tr.Columns
	n := len(ids) / 8
	for _, length := range []int{len(c.Parent), len(c.Stage), len(c.Process), len(c.StartUS), len(c.DurationUS), tr.Spans} {
		if length != n {
			return nil, fmt.Errorf("a column of %d beside %d span ids", length, n)
		}
	}
	id := func(row int) string { return hex.EncodeToString(ids[8*row : 8*row+8]) }
	nodes := map[string]node{}
	for row := range n {
		stage, process := tr.Stages[c.Stage[row]], tr.Processes[c.Process[row]]
		at := node{
			Name: stage.Name, Service: stage.Service, Kind: stage.Kind, Process: process.Process,
			StartUS: c.StartUS[row], DurationUS: c.DurationUS[row],
		}
		if c.Parent[row] > 0 {
			at.Parent = id(row - c.Parent[row])
		}
		nodes[id(row)] = at
	}
	for _, row := range tr.Errors {
		at := nodes[id(row)]
		at.Error = true
		nodes[id(row)] = at
	}
	for _, row := range tr.Orphans {
		at := nodes[id(row)]
		at.Orphan = true
		nodes[id(row)] = at
	}
	return nodes, nil
}

// checkTrees compares every trace of a run, and one span of each.
func (f *filed) checkTrees(a *api, run *simulation.Run) error {
	byTrace := map[string][]simulation.Span{}
	for _, sp := range run.Spans() {
		if sp.Run != "" {
			byTrace[sp.TraceID.String()] = append(byTrace[sp.TraceID.String()], sp)
		}
	}
	for id, spans := range byTrace {
		if err := errors.Join(checkTree(a, run.ID, id, spans), f.checkSpan(a, run.ID, spans[0])); err != nil {
			return fmt.Errorf("trace %s: %w", id, err)
		}
	}
	return nil
}

func checkTree(a *api, run, id string, spans []simulation.Span) error {
	var answer tree
	if err := a.get(&answer, "/api/trace", "run", run, "id", id); err != nil {
		return err
	}
	got, err := answer.nodes()
	if err != nil {
		return err
	}
	first, sent := spans[0].Start, map[string]bool{}
	for _, sp := range spans {
		sent[sp.SpanID.String()] = true
		if sp.Start.Before(first) {
			first = sp.Start
		}
	}
	want := map[string]node{}
	for _, sp := range spans {
		at := node{
			Name: sp.Name, Service: sp.Process.Service, Kind: "internal", Process: sp.Process.Name(), Error: sp.Error,
			StartUS: sp.Start.Sub(first).Microseconds(), DurationUS: sp.End.Sub(sp.Start).Microseconds(),
		}
		if sp.Process.Service == simulation.ServiceEngine {
			at.Kind = "server"
		}
		if !sp.ParentID.IsEmpty() {
			if at.Orphan = !sent[sp.ParentID.String()]; !at.Orphan {
				at.Parent = sp.ParentID.String()
			}
		}
		want[sp.SpanID.String()] = at
	}
	return errors.Join(answer.ready(), differs("start", first.UnixNano(), answer.Start.UnixNano()), differs("spans", want, got))
}

// checkSpan compares one span in full.
func (f *filed) checkSpan(a *api, run string, sp simulation.Span) error {
	var got struct {
		state
		Span struct {
			TraceID, SpanID, ParentSpanID, Name string
		}
		Service, Process string
		Start, End       time.Time
		Copies           int
	}
	if err := a.get(&got, "/api/span", "run", run, "trace", sp.TraceID.String(), "id", sp.SpanID.String()); err != nil {
		return err
	}
	copies := f.copies[keyOf(sp)]
	return errors.Join(got.ready(),
		differs("ids", []string{sp.TraceID.String(), sp.SpanID.String(), sp.ParentID.String()},
			[]string{got.Span.TraceID, got.Span.SpanID, got.Span.ParentSpanID}),
		differs("name, service, process", []string{sp.Name, sp.Process.Service, sp.Process.Name()},
			[]string{got.Span.Name, got.Service, got.Process}),
		differs("times", []int64{sp.Start.UnixNano(), sp.End.UnixNano()}, []int64{got.Start.UnixNano(), got.End.UnixNano()}),
		differs("copies", copies.named+copies.unnamed, got.Copies))
}
