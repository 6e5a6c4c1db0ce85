package viewer

import (
	"encoding/json"
	"net/http"

	"github.com/runspan/runspan/internal/runindex"
)

// envelope begins every answer that can change.
type envelope struct {
	Cursor   string   `json:"cursor"`
	State    string   `json:"state"`
	Reason   string   `json:"reason"`
	Progress progress `json:"progress"`
}

// progress is how much of the files is read, in bytes.
type progress struct {
	Read  int64 `json:"read"`
	Total int64 `json:"total"`
}

func (q *request) envelope(cursor string) envelope {
	return envelope{
		Cursor: cursor, State: string(q.snapshot.State), Reason: q.snapshot.Reason,
		Progress: progress{Read: q.snapshot.Read, Total: q.snapshot.Total},
	}
}

func answerUnchanged(cursor string) ([]byte, error) {
	return json.Marshal(struct {
		Unchanged bool   `json:"unchanged"`
		Cursor    string `json:"cursor"`
	}{true, cursor})
}

func answerHealth(q *request) ([]byte, error) {
	opened, memory := q.v.runs.Memory()
	return json.Marshal(struct {
		Status         string `json:"status"`
		Version        string `json:"version"`
		State          string `json:"state"`
		Reason         string `json:"reason"`
		Runs           int    `json:"runs"`
		OpenedRuns     int    `json:"opened_runs"`
		MemoryBytes    int64  `json:"memory_bytes"`
		MaxMemoryBytes int64  `json:"max_memory_bytes"`
	}{
		"ok", q.v.opts.Version, string(q.snapshot.State), q.snapshot.Reason,
		len(q.snapshot.Runs), opened, memory, q.v.runs.MaxMemory(),
	})
}

// opened is a run that a request asks for.
type opened struct {
	*runindex.OpenedRun
	envelope
	Partial   *runindex.Partial
	unchanged bool
}

// open opens the run of a request, unless its client has the answer already. One that is not in the
// files is an empty one while they are not read.
func (q *request) open() (*opened, error) {
	id := q.required("run")
	if q.err != nil {
		return nil, q.err
	}
	info := q.snapshot.Run(id)
	if info == nil && q.snapshot.State == runindex.StateReady {
		return nil, &apiError{http.StatusNotFound, "no_such_run", "the files have no such run"}
	}
	base := []any{q.snapshot.State}
	if q.snapshot.State != runindex.StateReady {
		base = append(base, q.snapshot.Reason, q.snapshot.Read, q.snapshot.Total)
	}
	if info == nil {
		o := &opened{OpenedRun: q.v.runs.Empty(id), envelope: q.envelope(q.cursor(base...))}
		o.unchanged = q.unchanged(o.Cursor)
		return o, nil
	}
	base = append(base, info.Version, info.Live(q.now), noRunSpans(q.snapshot))
	if cursor := q.cursor(base...); q.unchanged(cursor) {
		return &opened{envelope: q.envelope(cursor), unchanged: true}, nil
	}
	run, partial, err := q.v.runs.Open(q.ctx, id)
	if err != nil {
		return nil, err
	}
	o := &opened{OpenedRun: run, Partial: partial}
	if partial != nil {
		base = append(base, *partial)
	}
	if partial != nil || run.Joined() {
		generation, changes := run.Changes()
		base = append(base, generation, changes)
	}
	o.envelope = q.envelope(q.cursor(base...))
	o.unchanged = q.unchanged(o.Cursor)
	return o, nil
}

// noRunSpans is a number that is another one when spans came that may join a run.
func noRunSpans(s *runindex.Snapshot) (spans int64) {
	for _, sender := range s.NoRun {
		spans += sender.Spans
	}
	return spans
}
