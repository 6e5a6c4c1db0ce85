package viewer

import (
	"context"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/runspan/runspan/internal/runindex"
)

const (
	defaultLimit = 100
	maxLimit     = 1000

	// maxParameter is the longest value of a parameter, in bytes: a run id has 256.
	maxParameter = 4096
)

// endpoint is one path of the API.
type endpoint struct {
	params []string
	open   bool // answers without a token and out of turn
	answer func(*request) ([]byte, error)
}

var endpoints = map[string]endpoint{
	"/health": {open: true, answer: answerHealth},
	"/runs":   {params: []string{"service", "q", "sort", "limit", "page", "cursor"}, answer: answerRuns},
	"/run":    {params: []string{"run", "service", "cursor"}, answer: answerRun},
	"/stages": {params: []string{"run", "service", "sort", "limit", "page", "cursor"}, answer: answerStages},
	"/traces": {params: []string{
		"run", "service", "errors", "min_ms", "max_ms", "q", "sort", "limit", "page", "cursor",
	}, answer: answerTraces},
	"/trace":   {params: []string{"run", "id", "service", "cursor"}, answer: answerTrace},
	"/span":    {params: []string{"run", "trace", "id", "service", "cursor"}, answer: answerSpan},
	"/missing": {params: []string{"run", "service", "limit", "cursor"}, answer: answerMissing},
}

// request is a request of the API that is being answered.
type request struct {
	ctx      context.Context
	v        *Viewer
	path     string
	values   url.Values
	snapshot *runindex.Snapshot
	now      time.Time
	err      error // the first parameter that is wrong
}

func badParameter(name, text string) *apiError {
	return &apiError{http.StatusBadRequest, "bad_parameter", fmt.Sprintf("the parameter %.40q %s", name, text)}
}

func (v *Viewer) parse(ctx context.Context, r *http.Request, path string, e endpoint) (*request, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, &apiError{http.StatusBadRequest, "bad_parameter", "the parameters are not percent-encoded as they must be"}
	}
	for name, all := range values {
		switch {
		case !slices.Contains(e.params, name):
			return nil, badParameter(name, "is none of "+path+": docs/api.md lists them")
		case len(all) > 1:
			return nil, badParameter(name, "is there twice")
		case len(all[0]) > maxParameter:
			return nil, badParameter(name, "is longer than "+strconv.Itoa(maxParameter)+" bytes")
		}
	}
	return &request{ctx: ctx, v: v, path: path, values: values, snapshot: v.opts.Catalogue.Snapshot(), now: time.Now()}, nil
}

func (q *request) wrong(name, text string) {
	if q.err == nil {
		q.err = badParameter(name, text)
	}
}

func (q *request) text(name string) string { return q.values.Get(name) }

func (q *request) required(name string) string {
	value := q.values.Get(name)
	if value == "" {
		q.wrong(name, "is missing")
	}
	return value
}

// id fills in an identity in hexadecimal.
func (q *request) id(name string, id []byte) {
	value := q.required(name)
	if n, err := hex.Decode(id, []byte(value[:min(len(value), 2*len(id))])); err != nil || n != len(id) || len(value) != 2*len(id) {
		q.wrong(name, fmt.Sprintf("is not %d hexadecimal digits", 2*len(id)))
	}
}

func (q *request) flag(name string) bool {
	value := q.text(name)
	if value != "" && value != "true" && value != "false" {
		q.wrong(name, "is neither true nor false")
	}
	return value == "true"
}

// milliseconds returns a duration in ns, 0 where there is none.
func (q *request) milliseconds(name string) int64 {
	value := q.text(name)
	if value == "" {
		return 0
	}
	ms, err := strconv.ParseFloat(value, 64)
	if err != nil || !(ms >= 0 && ms < 9e12) {
		q.wrong(name, "is no number of milliseconds")
		return 0
	}
	return int64(ms * 1e6)
}

func (q *request) limit(otherwise int) int {
	value := q.text("limit")
	if value == "" {
		return otherwise
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > maxLimit {
		q.wrong("limit", fmt.Sprintf("is no number from 1 to %d", maxLimit))
		return otherwise
	}
	return n
}

// page returns what of a list is asked for.
func (q *request) page(columns []string, otherwise string) runindex.Page {
	p := runindex.Page{Sort: q.text("sort"), Limit: q.limit(defaultLimit), After: q.text("page")}
	if p.Sort == "" {
		p.Sort = otherwise
	}
	if !slices.Contains(columns, strings.TrimPrefix(p.Sort, "-")) {
		q.wrong("sort", "is none of "+strings.Join(columns, ", ")+", with - before it for descending")
	}
	return p
}

// cursor returns the cursor of an answer that is the same while what is the same.
func (q *request) cursor(what ...any) string {
	h := fnv.New64a()
	for _, name := range slices.Sorted(maps.Keys(q.values)) {
		if name != "cursor" {
			_, _ = fmt.Fprintf(h, "%q=%q&", name, q.values.Get(name)) // a hash takes everything
		}
	}
	_, _ = fmt.Fprintf(h, "%s %q", q.path, what)
	return q.v.instance + "." + strconv.FormatUint(h.Sum64(), 16)
}

// unchanged reports whether the client has the answer of this cursor.
func (q *request) unchanged(cursor string) bool { return q.values.Get("cursor") == cursor }
