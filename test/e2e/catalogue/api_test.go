package catalogue

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"
)

// api asks a viewer, as docs/api.md has it.
type api struct {
	address string
	http    http.Client
}

func newAPI(t *testing.T, address string) *api {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &api{address, http.Client{Transport: transport, Timeout: 30 * time.Second}}
}

// get reads an answer. params are names and values.
func (a *api) get(into any, path string, params ...string) error {
	query := url.Values{}
	for i := 0; i < len(params); i += 2 {
		query.Set(params[i], params[i+1])
	}
	body, err := a.body(path + "?" + query.Encode())
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("GET %s: %w: %.300s", path, err, body)
	}
	return nil
}

// body returns an answer, which must be a good one.
func (a *api) body(pathAndQuery string) ([]byte, error) {
	response, err := a.http.Get("http://" + a.address + pathAndQuery)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, &badAnswerError{pathAndQuery, response.StatusCode, body}
	}
	return body, nil
}

// badAnswerError is an answer that is not 200.
type badAnswerError struct {
	path string
	code int
	body []byte
}

func (err *badAnswerError) Error() string {
	return fmt.Sprintf("GET %s: %d: %.300s", err.path, err.code, err.body)
}

// state is what every answer on runs has.
type state struct {
	State, Reason string
}

func (s *state) ready() error {
	if s.State != "ready" {
		return fmt.Errorf("%s: %s", s.State, s.Reason)
	}
	return nil
}

type listedRun struct {
	RunID     string `json:"run_id"`
	Services  []string
	First     time.Time
	Last      time.Time
	Spans     int
	Traces    int
	Errors    int
	Processes int
	Bytes     int64
	Live      bool
}

// runs returns all runs, by id.
func (a *api) runs() (map[string]listedRun, error) {
	all := map[string]listedRun{}
	for page := ""; ; {
		var answer struct {
			state
			Runs    []listedRun
			Matched int
			Next    string
		}
		if err := a.get(&answer, "/api/runs", "limit", "20", "page", page); err != nil {
			return nil, err
		}
		if err := answer.ready(); err != nil {
			return nil, err
		}
		for _, run := range answer.Runs {
			if _, twice := all[run.RunID]; twice {
				return nil, fmt.Errorf("run %s is on two pages", run.RunID)
			}
			all[run.RunID] = run
		}
		if page = answer.Next; page == "" {
			if len(all) != answer.Matched {
				return nil, fmt.Errorf("%d runs on all pages, matched is %d", len(all), answer.Matched)
			}
			return all, nil
		}
	}
}

type openedRun struct {
	state
	RunID    string `json:"run_id"`
	First    time.Time
	Last     time.Time
	Spans    int
	Traces   int
	Errors   int
	Services []struct {
		Service       string
		Spans, Errors int
	}
	Processes []struct {
		Process       string
		NamedBy       string `json:"named_by"`
		Service       string
		Spans, Errors int
		First, Last   time.Time
	}
	Rate    struct{ Spans, Errors []int }
	Missing struct {
		Orphans    int
		Rootless   int `json:"rootless_traces"`
		Duplicates int
		Joined     int
		Clock      int
	}
	Partial any
}

type stage struct {
	Name, Service string
	Count, Errors int
	P50           time.Duration `json:"p50_ns"`
	P95           time.Duration `json:"p95_ns"`
	P99           time.Duration `json:"p99_ns"`
	Max           time.Duration `json:"max_ns"`
	Sum           time.Duration `json:"sum_ns"`
}

type listedTrace struct {
	TraceID                string `json:"trace_id"`
	HasRoot                bool   `json:"has_root"`
	Spans, Errors, Orphans int
}

// traces returns all traces of a run.
func (a *api) traces(run string) (map[string]listedTrace, error) {
	all := map[string]listedTrace{}
	for page := ""; ; {
		var answer struct {
			state
			Traces []listedTrace
			Next   string
		}
		if err := a.get(&answer, "/api/traces", "run", run, "limit", "50", "page", page); err != nil {
			return nil, err
		}
		for _, trace := range answer.Traces {
			all[trace.TraceID] = trace
		}
		if page = answer.Next; page == "" {
			return all, answer.ready()
		}
	}
}

type missing struct {
	state
	Orphans struct {
		Count int
		Spans []struct {
			SpanID   string `json:"span_id"`
			ParentID string `json:"parent_span_id"`
			Name     string
			Service  string
		}
	}
	Rootless struct {
		Count  int
		Traces []listedTrace
	} `json:"rootless_traces"`
	Duplicates struct {
		Count int
		Spans []struct {
			TraceID string `json:"trace_id"`
			SpanID  string `json:"span_id"`
			Copies  int
		}
	}
	Joined struct{ Count int }
	Clock  []struct {
		Process, Against string
		Pairs, Outside   int
		Before           time.Duration `json:"before_ns"`
		After            time.Duration `json:"after_ns"`
	}
}

type missingOfFiles struct {
	state
	NoRun []struct {
		Service, Process string
		Spans            int
	} `json:"no_run"`
	BadLines struct{ Count int } `json:"bad_lines"`
	Files    []struct {
		File        string
		Bytes, Read int64
		Problem     string
	}
}

// everything is a limit that all examples fit in.
var everything = strconv.Itoa(1000)
