package viewer

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"net/http"

	"github.com/runspan/runspan/internal/runindex"
)

func answerRun(q *request) ([]byte, error) {
	o, err := q.open()
	if err != nil {
		return nil, err
	}
	if o.unchanged {
		return answerUnchanged(o.Cursor)
	}
	return json.Marshal(struct {
		envelope
		*runindex.Summary
		Partial *runindex.Partial `json:"partial"`
	}{o.envelope, o.Summary(q.text("service")), o.Partial})
}

func answerStages(q *request) ([]byte, error) {
	page := q.page(runindex.StageSorts, "-sum")
	o, err := q.open()
	if err != nil {
		return nil, err
	}
	if o.unchanged {
		return answerUnchanged(o.Cursor)
	}
	stages, matched, next, err := o.Stages(q.text("service"), page)
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		envelope
		Partial *runindex.Partial `json:"partial"`
		Stages  []runindex.Stage  `json:"stages"`
		Matched int               `json:"matched"`
		Next    string            `json:"next"`
	}{o.envelope, o.Partial, stages, matched, next})
}

func answerTraces(q *request) ([]byte, error) {
	page := q.page(runindex.TraceSorts, "-start")
	filter := runindex.TraceFilter{
		Service: q.text("service"), Errors: q.flag("errors"), Text: q.text("q"),
		MinNS: q.milliseconds("min_ms"), MaxNS: q.milliseconds("max_ms"),
	}
	o, err := q.open()
	if err != nil {
		return nil, err
	}
	if o.unchanged {
		return answerUnchanged(o.Cursor)
	}
	traces, matched, next, searched, err := o.Traces(q.ctx, filter, page)
	if err != nil {
		return nil, err
	}
	if searched != nil {
		// No cursor is ever this one: the next request searches on.
		o.Cursor += "~"
		o.Partial = cmp.Or(o.Partial, searched)
	}
	return json.Marshal(struct {
		envelope
		Partial *runindex.Partial `json:"partial"`
		Traces  []runindex.Trace  `json:"traces"`
		Matched int               `json:"matched"`
		Next    string            `json:"next"`
	}{o.envelope, o.Partial, traces, matched, next})
}

func answerSpan(q *request) ([]byte, error) {
	var trace [16]byte
	var id [8]byte
	q.id("trace", trace[:])
	q.id("id", id[:])
	o, err := q.open()
	if err != nil {
		return nil, err
	}
	if o.unchanged {
		return answerUnchanged(o.Cursor)
	}
	span, err := o.Span(trace, id, q.text("service"))
	if err != nil {
		return nil, err
	}
	if span == nil {
		if q.snapshot.State == runindex.StateReady && o.Partial == nil {
			return nil, &apiError{http.StatusNotFound, "no_such_span", "the run has no such span"}
		}
		span = &runindex.Span{RunID: q.text("run")}
	}
	return json.Marshal(struct {
		envelope
		TraceID string `json:"trace_id"`
		SpanID  string `json:"span_id"`
		*runindex.Span
	}{o.envelope, hex.EncodeToString(trace[:]), hex.EncodeToString(id[:]), span})
}
