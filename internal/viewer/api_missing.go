package viewer

import (
	"encoding/json"
	"path/filepath"

	"github.com/runspan/runspan/internal/runindex"
)

const defaultExamples = 20

func answerMissing(q *request) ([]byte, error) {
	limit := q.limit(defaultExamples)
	if q.err != nil {
		return nil, q.err
	}
	if q.text("run") == "" {
		return answerMissingOfFiles(q, limit)
	}
	o, err := q.open()
	if err != nil {
		return nil, err
	}
	if o.unchanged {
		return answerUnchanged(o.Cursor)
	}
	return json.Marshal(struct {
		envelope
		Partial *runindex.Partial `json:"partial"`
		*runindex.Missing
	}{o.envelope, o.Partial, o.Missing(q.text("service"), limit)})
}

type noRunSender struct {
	Service string        `json:"service"`
	Process string        `json:"process"`
	Spans   int64         `json:"spans"`
	Last    runindex.Time `json:"last"`
}

type badLine struct {
	File   string `json:"file"` // without its folder
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
	Reason string `json:"reason"`
}

type badLines struct {
	Count int64     `json:"count"`
	Lines []badLine `json:"lines"`
}

type fileRead struct {
	File    string `json:"file"` // without its folder
	Bytes   int64  `json:"bytes"`
	Read    int64  `json:"read"`
	Problem string `json:"problem"`
}

func answerMissingOfFiles(q *request, limit int) ([]byte, error) {
	cursor := q.cursor(q.snapshot.Version)
	if q.unchanged(cursor) {
		return answerUnchanged(cursor)
	}
	senders, bad, files := []noRunSender{}, badLines{Lines: []badLine{}}, []fileRead{}
	for _, s := range q.snapshot.NoRun {
		if service := q.text("service"); service == "" || s.Service == service {
			senders = append(senders, noRunSender{s.Service, s.Process, s.Spans, runindex.Time(s.Last)})
		}
	}
	bad.Count = q.snapshot.BadLines.Count
	for _, line := range q.snapshot.BadLines.Lines {
		bad.Lines = append(bad.Lines, badLine{filepath.Base(line.File), line.Offset, line.Bytes, line.Reason})
	}
	for _, f := range q.snapshot.Files {
		files = append(files, fileRead{filepath.Base(f.Name), f.Bytes, f.Read, f.Problem})
	}
	senders, bad.Lines, files = first(senders, limit), first(bad.Lines, limit), first(files, limit)
	return json.Marshal(struct {
		envelope
		NoRun    []noRunSender `json:"no_run"`
		BadLines badLines      `json:"bad_lines"`
		Files    []fileRead    `json:"files"`
	}{q.envelope(cursor), senders, bad, files})
}

func first[T any](list []T, n int) []T { return list[:min(n, len(list))] }
