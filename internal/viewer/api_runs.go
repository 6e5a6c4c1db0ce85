package viewer

import (
	"encoding/json"
	"strings"

	"github.com/runspan/runspan/internal/runindex"
)

func answerRuns(q *request) ([]byte, error) {
	query := runindex.RunQuery{
		Service: q.text("service"), Text: q.text("q"), Now: q.now, Page: q.page(runindex.RunSorts, "-last"),
	}
	if q.err != nil {
		return nil, q.err
	}
	var live strings.Builder
	for _, r := range q.snapshot.Runs {
		if r.Live(q.now) {
			live.WriteString(r.ID + "\n")
		}
	}
	cursor := q.cursor(q.snapshot.Version, live.String())
	if q.unchanged(cursor) {
		return answerUnchanged(cursor)
	}
	runs, matched, next, err := q.snapshot.List(query)
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		envelope
		Runs    []runindex.ListedRun `json:"runs"`
		Matched int                  `json:"matched"`
		Next    string               `json:"next"`
	}{q.envelope(cursor), runs, matched, next})
}
