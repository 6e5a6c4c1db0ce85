package runindex

import (
	"cmp"
	"encoding/hex"
	"slices"
)

// Missing is what a run lacks, or has too much of, with examples.
type Missing struct {
	Orphans        MissingSpans      `json:"orphans"`
	RootlessTraces MissingTraces     `json:"rootless_traces"`
	Duplicates     MissingDuplicates `json:"duplicates"`
	Joined         MissingCount      `json:"joined"`
	Clock          []ClockPair       `json:"clock"`
}

// MissingCount is a number without examples.
type MissingCount struct {
	Count int64 `json:"count"`
}

// MissingSpans are spans whose parent never arrived.
type MissingSpans struct {
	Count int64    `json:"count"`
	Spans []Orphan `json:"spans"`
}

// Orphan is a span whose parent never arrived.
type Orphan struct {
	TraceID      string `json:"trace_id"`
	SpanID       string `json:"span_id"`
	ParentSpanID string `json:"parent_span_id"`
	Name         string `json:"name"`
	Service      string `json:"service"`
}

// MissingTraces are traces without a root.
type MissingTraces struct {
	Count  int64   `json:"count"`
	Traces []Trace `json:"traces"`
}

// MissingDuplicates are spans that are in the files more than once.
type MissingDuplicates struct {
	Count int64       `json:"count"`
	Spans []Duplicate `json:"spans"`
}

// Duplicate is a span that is in the files more than once.
type Duplicate struct {
	TraceID string `json:"trace_id"`
	SpanID  string `json:"span_id"`
	Copies  int64  `json:"copies"`
}

// ClockPair says how far spans of a process lie outside of their parents in another.
type ClockPair struct {
	Process  string      `json:"process"`
	Against  string      `json:"against"`
	Pairs    int64       `json:"pairs"`
	Outside  int64       `json:"outside"`
	BeforeNS int64       `json:"before_ns"`
	AfterNS  int64       `json:"after_ns"`
	Example  ClockSample `json:"example"`
}

// ClockSample is the span that lies farthest outside.
type ClockSample struct {
	TraceID string `json:"trace_id"`
	SpanID  string `json:"span_id"`
}

// Missing returns what the spans of a service lack, "" for all, with at most so many examples of each.
func (o *OpenedRun) Missing(service string, limit int) *Missing {
	m := &Missing{
		Orphans: MissingSpans{Spans: []Orphan{}}, RootlessTraces: MissingTraces{Traces: []Trace{}},
		Duplicates: MissingDuplicates{Spans: []Duplicate{}},
	}
	o.lookAt(func(c *columns) { c.missing(m, c.filter(service), limit) })
	return m
}

func (c *columns) missing(m *Missing, f serviceFilter, limit int) {
	for row := range int32(len(c.trace)) {
		if !f.passes(c.serviceOfRow(row)) {
			continue
		}
		if c.flags[row]&flagJoined != 0 {
			m.Joined.Count++
		}
		if c.above[row] != parentMissing {
			continue
		}
		if m.Orphans.Count++; len(m.Orphans.Spans) < limit {
			stage := c.stageTable[c.stage[row]]
			parent := spanIDBytes(c.parent[row])
			m.Orphans.Spans = append(m.Orphans.Spans, Orphan{
				TraceID: c.traceHex(row), SpanID: c.spanHex(row), ParentSpanID: hex.EncodeToString(parent[:]),
				Name: stage.name, Service: c.services[stage.service],
			})
		}
	}
	for trace := range uint32(len(c.traces)) {
		if c.traces[trace].hasRoot || !c.hasService(trace, f) {
			continue
		}
		if m.RootlessTraces.Count++; len(m.RootlessTraces.Traces) < limit {
			m.RootlessTraces.Traces = append(m.RootlessTraces.Traces, c.traceOfRow(trace))
		}
	}
	var twice []uint32
	for row := range c.copies {
		if f.passes(c.serviceOfRow(int32(row))) {
			twice = append(twice, row)
		}
	}
	slices.Sort(twice)
	m.Duplicates.Count = int64(len(twice))
	for _, row := range twice[:min(limit, len(twice))] {
		m.Duplicates.Spans = append(m.Duplicates.Spans, Duplicate{
			TraceID: c.traceHex(int32(row)), SpanID: c.spanHex(int32(row)), Copies: 1 + int64(c.copies[row]),
		})
	}
	m.Clock = c.clock(f)
	m.Clock = m.Clock[:min(limit, len(m.Clock))]
}

// clock returns the pairs of processes whose clocks seem to differ, those farthest apart first.
func (c *columns) clock(f serviceFilter) []ClockPair {
	type key struct{ process, against string }
	sums := map[key]*ClockPair{}
	for pair, stat := range c.pairs {
		child, parent := c.processTable[pair.child], c.processTable[pair.parent]
		if !f.passes(child.service) {
			continue
		}
		k := key{child.name, parent.name}
		sum := sums[k]
		if sum == nil {
			sum = &ClockPair{Process: child.name, Against: parent.name}
			sums[k] = sum
		}
		sum.Pairs += stat.pairs
		sum.Outside += stat.outside
		if worst := max(stat.before, stat.after); stat.example >= 0 && worst > max(sum.BeforeNS, sum.AfterNS) {
			sum.Example = ClockSample{TraceID: c.traceHex(stat.example), SpanID: c.spanHex(stat.example)}
		}
		sum.BeforeNS, sum.AfterNS = max(sum.BeforeNS, stat.before), max(sum.AfterNS, stat.after)
	}
	pairs := []ClockPair{}
	for _, sum := range sums {
		if sum.Outside > 0 {
			pairs = append(pairs, *sum)
		}
	}
	slices.SortFunc(pairs, func(a, b ClockPair) int {
		return cmp.Or(cmp.Compare(max(b.BeforeNS, b.AfterNS), max(a.BeforeNS, a.AfterNS)),
			cmp.Compare(a.Process, b.Process), cmp.Compare(a.Against, b.Against))
	})
	return pairs
}

func (c *columns) traceHex(row int32) string {
	id := c.traces[c.trace[row]].id
	return hex.EncodeToString(id[:])
}

func (c *columns) spanHex(row int32) string {
	id := spanIDBytes(c.span[row])
	return hex.EncodeToString(id[:])
}
