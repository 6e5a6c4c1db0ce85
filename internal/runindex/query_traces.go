package runindex

import (
	"context"
	"encoding/hex"
	"slices"
)

// Trace is one trace of a list.
type Trace struct {
	TraceID     string   `json:"trace_id"`
	Root        string   `json:"root"`
	RootService string   `json:"root_service"`
	HasRoot     bool     `json:"has_root"`
	Start       Time     `json:"start"`
	DurationNS  int64    `json:"duration_ns"`
	Spans       int64    `json:"spans"`
	Errors      int64    `json:"errors"`
	Orphans     int64    `json:"orphans"`
	Services    []string `json:"services"`
}

// TraceSorts are the columns by which traces sort.
var TraceSorts = []string{"start", "duration", "spans", "errors"}

// TraceFilter says which traces are asked for. The zero value is all of them.
type TraceFilter struct {
	// Service of which it has a span.
	Service string
	// Errors: it has a span with an error.
	Errors bool
	// MinNS and MaxNS bound its duration, in ns. Zero is no bound.
	MinNS, MaxNS int64
	// Text is a part of its id, of a span's name or status message, or of a string attribute of a span
	// or of its events, in any case.
	Text string
}

// Traces returns the traces that pass, and how many there are on all pages. partial is nil, or says
// that the search for a text was not through all spans when its time ended.
func (o *OpenedRun) Traces(ctx context.Context, filter TraceFilter, page Page) (traces []Trace, matched int, next string, partial *Partial, err error) {
	var found *searchResult
	if filter.Text != "" {
		if found, err = o.find(ctx, filter.Text); err != nil {
			return nil, 0, "", nil, err
		}
	}
	traces = []Trace{}
	o.lookAt(func(c *columns) {
		var rows []uint32
		service := c.filter(filter.Service)
		for row := range uint32(len(c.traces)) {
			t := &c.traces[row]
			took := t.end - t.start
			if filter.Errors && t.errors == 0 || took < filter.MinNS || filter.MaxNS > 0 && took > filter.MaxNS ||
				!c.hasService(row, service) || found != nil && !found.has(row) {
				continue
			}
			rows = append(rows, row)
		}
		matched = len(rows)
		name, desc := page.column()
		by := order[uint32]{
			text: func(row uint32) []byte { return c.traces[row].id[:] },
			number: map[string]func(uint32) int64{
				"start":    func(row uint32) int64 { return c.traces[row].start },
				"duration": func(row uint32) int64 { return c.traces[row].end - c.traces[row].start },
				"spans":    func(row uint32) int64 { return int64(c.traces[row].spans) },
				"errors":   func(row uint32) int64 { return int64(c.traces[row].errors) },
			}[name],
			desc: desc,
		}
		if rows, next, err = by.page(rows, page); err != nil {
			return
		}
		for _, row := range rows {
			traces = append(traces, c.traceOfRow(row))
		}
	})
	if found != nil && !found.complete {
		partial = o.partial(PartialTime)
	}
	return traces, matched, next, partial, err
}

func (c *columns) traceOfRow(row uint32) Trace {
	t := &c.traces[row]
	trace := Trace{
		TraceID: hex.EncodeToString(t.id[:]), HasRoot: t.hasRoot,
		Start: Time(t.start), DurationNS: t.end - t.start,
		Spans: int64(t.spans), Errors: int64(t.errors), Orphans: int64(t.orphans),
		Services: c.servicesOf(t),
	}
	if t.top >= 0 {
		stage := c.stageTable[c.stage[t.top]]
		trace.Root, trace.RootService = stage.name, c.services[stage.service]
	}
	return trace
}

func (c *columns) servicesOf(t *traceRow) []string {
	services := []string{}
	for i := range min(63, len(c.services)) {
		if t.services&serviceBit(uint32(i)) != 0 {
			services = append(services, c.services[i])
		}
	}
	if t.services&serviceBit(63) != 0 {
		seen := map[uint32]bool{}
		for row := t.last; row >= 0; row = c.before[row] {
			if service := c.serviceOfRow(row); service >= 63 && !seen[service] {
				seen[service] = true
				services = append(services, c.services[service])
			}
		}
	}
	slices.Sort(services)
	return services
}
