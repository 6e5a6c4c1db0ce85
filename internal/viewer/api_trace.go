package viewer

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/runspan/runspan/internal/runindex"
)

func answerTrace(q *request) ([]byte, error) {
	var id [16]byte
	q.id("id", id[:])
	o, err := q.open()
	if err != nil {
		return nil, err
	}
	if o.unchanged {
		return answerUnchanged(o.Cursor)
	}
	tree := o.Trace(id, q.text("service"))
	if tree == nil {
		if q.snapshot.State == runindex.StateReady && o.Partial == nil {
			return nil, &apiError{http.StatusNotFound, "no_such_trace", "the run has no such trace"}
		}
		tree = &runindex.TraceTree{
			TraceID: id, Stages: []runindex.TreeStage{}, Processes: []runindex.TreeProcess{}, Errors: []int32{}, Orphans: []int32{},
		}
	}
	body, err := json.Marshal(struct {
		envelope
		Partial    *runindex.Partial      `json:"partial"`
		RunID      string                 `json:"run_id"`
		TraceID    string                 `json:"trace_id"`
		Start      runindex.Time          `json:"start"`
		DurationUS int64                  `json:"duration_us"`
		Spans      int                    `json:"spans"`
		Stages     []runindex.TreeStage   `json:"stages"`
		Processes  []runindex.TreeProcess `json:"processes"`
		Errors     []int32                `json:"errors"`
		Orphans    []int32                `json:"orphans"`
		Duplicates int64                  `json:"duplicates"`
		Cut        int64                  `json:"cut"`
		JaegerURL  string                 `json:"jaeger_url"`
	}{
		o.envelope, o.Partial, q.text("run"), hex.EncodeToString(id[:]), runindex.Time(tree.Start), tree.DurationNS / 1000,
		len(tree.SpanID), tree.Stages, tree.Processes, tree.Errors, tree.Orphans, tree.Duplicates, tree.Cut, q.v.jaegerTrace(id),
	})
	if err != nil {
		return nil, err
	}
	return appendColumns(body, tree), nil
}

// jaegerTrace returns the address of a trace in Jaeger's page, "" where there is none.
func (v *Viewer) jaegerTrace(id [16]byte) string {
	if v.opts.JaegerURL == "" {
		return ""
	}
	return strings.TrimSuffix(v.opts.JaegerURL, "/") + "/trace/" + hex.EncodeToString(id[:])
}

// appendColumns adds the columns to the object of a trace. encoding/json takes three times as long
// for them.
func appendColumns(body []byte, t *runindex.TraceTree) []byte {
	ids := make([]byte, 0, 8*len(t.SpanID))
	for _, id := range t.SpanID {
		ids = binary.BigEndian.AppendUint64(ids, id)
	}
	body = append(body[:len(body)-1], `,"columns":{"span_id":"`...)
	body = base64.RawStdEncoding.AppendEncode(body, ids)
	body = append(body, '"')
	body = appendColumn(body, "parent", t.Parent, 1)
	body = appendColumn(body, "stage", t.Stage, 1)
	body = appendColumn(body, "process", t.Process, 1)
	body = appendColumn(body, "start_us", t.StartNS, 1000)
	body = appendColumn(body, "duration_us", t.TookNS, 1000)
	return append(body, "}}"...)
}

func appendColumn[T int32 | int64](body []byte, name string, values []T, unit T) []byte {
	body = append(body, `,"`+name+`":[`...)
	for i, value := range values {
		if i > 0 {
			body = append(body, ',')
		}
		body = strconv.AppendInt(body, int64(value/unit), 10)
	}
	return append(body, ']')
}
