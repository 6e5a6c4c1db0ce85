package runindex

import (
	"encoding/json"
	"path/filepath"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/runspan/runspan/internal/tracefile"
)

// Span is one span in full.
type Span struct {
	RunID      string          `json:"run_id"`
	Service    string          `json:"service"`
	Process    string          `json:"process"`
	Start      Time            `json:"start"`
	End        Time            `json:"end"`
	DurationNS int64           `json:"duration_ns"`
	Copies     int64           `json:"copies"`
	Place      Place           `json:"place"`
	Resource   json.RawMessage `json:"resource"`
	Scope      json.RawMessage `json:"scope"`
	Span       json.RawMessage `json:"span"`
}

// Place is where in the files a line is.
type Place struct {
	File   string `json:"file"` // without its folder
	Offset int64  `json:"offset"`
}

// Span reads a span back from its line; nil where the run has no such span. The error is ErrGone
// where the file was replaced meanwhile.
func (o *OpenedRun) Span(trace [16]byte, id [8]byte, service string) (*Span, error) {
	s := &Span{RunID: o.id}
	var ref LineRef
	found := false
	o.lookAt(func(c *columns) {
		in, ok := c.byTrace[trace]
		if !ok {
			return
		}
		row := c.find(in, spanIDOf(id))
		if row < 0 || !c.filter(service).passes(c.serviceOfRow(row)) {
			return
		}
		found, ref = true, c.lines[c.line[row]]
		s.Service, s.Process = c.services[c.serviceOfRow(row)], c.processTable[c.process[row]].name
		s.Start, s.End, s.DurationNS = Time(c.start[row]), Time(c.endOf(row)), c.took[row]
		s.Copies = 1 + int64(c.copies[uint32(row)])
	})
	if !found {
		return nil, nil
	}
	s.Place = Place{File: filepath.Base(ref.File), Offset: ref.Offset}
	var d tracefile.Decoder
	var buf []byte
	td, err := o.runs.decode(&d, ref, &buf)
	if err != nil {
		return nil, err
	}
	for span := range tracefile.SpansOf(td) {
		if span.TraceID() == trace && span.SpanID() == id && (span.Run == o.id || unassigned(span.Run)) {
			return s, s.fill(&span)
		}
	}
	return nil, ErrGone
}

// fill makes the parts that are OTLP/JSON.
func (s *Span) fill(span *tracefile.RunSpan) error {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	span.Resource.Resource().CopyTo(rs.Resource())
	ss := rs.ScopeSpans().AppendEmpty()
	span.Scope.Scope().CopyTo(ss.Scope())
	span.CopyTo(ss.Spans().AppendEmpty())
	var text struct {
		ResourceSpans []struct {
			Resource   json.RawMessage
			ScopeSpans []struct {
				Scope json.RawMessage
				Spans []json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(tracefile.AppendTraces(nil, td), &text); err != nil {
		return err
	}
	s.Resource = text.ResourceSpans[0].Resource
	s.Scope = text.ResourceSpans[0].ScopeSpans[0].Scope
	s.Span = text.ResourceSpans[0].ScopeSpans[0].Spans[0]
	return nil
}
