package runindex

import (
	"slices"
	"strings"
	"time"
)

// ListedRun is a run in a list.
type ListedRun struct {
	RunID     string   `json:"run_id"`
	Services  []string `json:"services"`
	First     Time     `json:"first"`
	Last      Time     `json:"last"`
	Spans     int64    `json:"spans"`
	Traces    int64    `json:"traces"`
	Errors    int64    `json:"errors"`
	Processes int64    `json:"processes"`
	Bytes     int64    `json:"bytes"`
	Live      bool     `json:"live"`
}

// RunSorts are the columns by which runs sort.
var RunSorts = []string{"last", "first", "run_id", "spans", "traces", "errors", "bytes"}

// RunQuery says which runs are asked for.
type RunQuery struct {
	// Service that a run has spans of; spans, errors and processes are then its alone. "" for all.
	Service string
	// Text is a part of the run's id or of a service, in any case.
	Text string
	// Now says which runs are live.
	Now  time.Time
	Page Page
}

// List returns the runs of a page, and how many there are on all pages.
func (s *Snapshot) List(q RunQuery) (runs []ListedRun, matched int, next string, err error) {
	runs = []ListedRun{}
	text := fold(q.Text)
	for _, info := range s.Runs {
		if r, ok := info.listed(q.Service); ok && r.has(text) {
			r.Live = info.Live(q.Now)
			runs = append(runs, r)
		}
	}
	matched = len(runs)
	name, desc := q.Page.column()
	by := order[ListedRun]{
		text: func(r ListedRun) []byte { return []byte(r.RunID) },
		number: map[string]func(ListedRun) int64{
			"last":   func(r ListedRun) int64 { return int64(r.Last) },
			"first":  func(r ListedRun) int64 { return int64(r.First) },
			"spans":  func(r ListedRun) int64 { return r.Spans },
			"traces": func(r ListedRun) int64 { return r.Traces },
			"errors": func(r ListedRun) int64 { return r.Errors },
			"bytes":  func(r ListedRun) int64 { return r.Bytes },
		}[name],
		desc: desc,
	}
	runs, next, err = by.page(runs, q.Page)
	return runs, matched, next, err
}

// listed returns a run as a list shows it, narrowed to a service; false where it has none of it.
func (r *RunInfo) listed(service string) (ListedRun, bool) {
	l := ListedRun{
		RunID: r.ID, Services: []string{}, First: Time(r.First), Last: Time(r.Last),
		Spans: r.Spans, Traces: r.Traces, Errors: r.Errors, Processes: int64(len(r.Processes)), Bytes: r.Bytes,
	}
	found := service == ""
	for _, s := range r.Services {
		l.Services = append(l.Services, s.Service)
		if s.Service == service {
			found, l.Spans, l.Errors = true, s.Spans, s.Errors
		}
	}
	slices.Sort(l.Services)
	if service != "" {
		l.Processes = 0
		for _, p := range r.Processes {
			if p.Service == service {
				l.Processes++
			}
		}
	}
	return l, found
}

func (r *ListedRun) has(text string) bool {
	return text == "" || strings.Contains(fold(r.RunID), text) ||
		slices.ContainsFunc(r.Services, func(service string) bool { return strings.Contains(fold(service), text) })
}
