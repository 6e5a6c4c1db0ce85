package catalogue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"time"

	"github.com/runspan/runspan/internal/runindex"
	"github.com/runspan/runspan/internal/viewer"
)

// Answers are how the viewer's API answers on the run with the most spans, none of which it has opened yet,
// and on the largest trace of it. Encoded, not sent.
type Answers struct {
	RunSpans     int64   `json:"run_spans"`
	RunSeconds   float64 `json:"run_seconds"`
	TraceSpans   int64   `json:"trace_spans"`
	TraceSeconds float64 `json:"trace_seconds"`
	TraceBytes   int     `json:"trace_bytes"`
}

func ask(ctx context.Context, c *runindex.Catalogue) (*Answers, error) {
	handler, err := viewer.New(viewer.Options{Catalogue: c, Endpoint: "127.0.0.1:18318"})
	if err != nil {
		return nil, err
	}
	var largest *runindex.RunInfo
	for _, run := range c.Snapshot().Runs {
		if largest == nil || run.Spans > largest.Spans {
			largest = run
		}
	}
	if largest == nil {
		return nil, errors.New("no run is known")
	}
	run := "run=" + url.QueryEscape(largest.ID)
	a := &Answers{RunSpans: largest.Spans}
	var summary struct {
		Spans   int64           `json:"spans"`
		Partial json.RawMessage `json:"partial"`
	}
	if a.RunSeconds, _, err = get(ctx, handler, "/api/run?"+run, &summary); err != nil {
		return nil, err
	}
	if summary.Spans != largest.Spans || string(summary.Partial) != "null" {
		return nil, fmt.Errorf("%d spans of %d were answered, partial %s", summary.Spans, largest.Spans, summary.Partial)
	}
	var list struct {
		Traces []struct {
			ID    string `json:"trace_id"`
			Spans int64  `json:"spans"`
		} `json:"traces"`
	}
	if _, _, err = get(ctx, handler, "/api/traces?sort=-spans&limit=1&"+run, &list); err != nil {
		return nil, err
	}
	if len(list.Traces) != 1 {
		return nil, fmt.Errorf("no trace of the run %q was answered", largest.ID)
	}
	a.TraceSpans = list.Traces[0].Spans
	var trace struct {
		Spans int64 `json:"spans"`
		Cut   int64 `json:"cut"`
	}
	if a.TraceSeconds, a.TraceBytes, err = get(ctx, handler, "/api/trace?"+run+"&id="+list.Traces[0].ID, &trace); err != nil {
		return nil, err
	}
	if trace.Spans != a.TraceSpans || trace.Cut != 0 {
		return nil, fmt.Errorf("%d spans of a trace of %d were answered, %d cut", trace.Spans, a.TraceSpans, trace.Cut)
	}
	return a, nil
}

// get returns how long an answer took, and its size before compression.
func get(ctx context.Context, handler http.Handler, path string, answer any) (seconds float64, size int, err error) {
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:18318"+path, http.NoBody)
	recorder := httptest.NewRecorder()
	began := time.Now()
	handler.ServeHTTP(recorder, request)
	seconds = time.Since(began).Seconds()
	body := recorder.Body.Bytes()
	if recorder.Code != http.StatusOK {
		return 0, 0, fmt.Errorf("%s: status %d: %.200s", path, recorder.Code, body)
	}
	return seconds, len(body), json.Unmarshal(body, answer)
}
