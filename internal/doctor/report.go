package doctor

import "time"

// The states of a place.
const (
	OK      = "ok"
	Wrong   = "wrong"
	Note    = "note"    // nothing is wrong yet, and worth knowing
	Skipped = "skipped" // not looked at, and why
)

// Place is one station on the way of the span, and what was seen there.
type Place struct {
	Place string `json:"place"`
	State string `json:"state"`
	Seen  string `json:"seen"`
	// Finding and Change are set where State is Wrong.
	Finding string `json:"finding,omitempty"`
	Change  string `json:"change,omitempty"`
}

// Report is what a doctor saw, in the order of the way.
type Report struct {
	OK bool `json:"ok"`
	// ExitCode is that of the first finding on the way; 0 without one.
	ExitCode int     `json:"exit_code"`
	RunID    string  `json:"run_id"`
	TraceID  string  `json:"trace_id"`
	SpanID   string  `json:"span_id"`
	Service  string  `json:"service"`
	Endpoint string  `json:"endpoint"`
	Protocol string  `json:"protocol"`
	Places   []Place `json:"places"`
}

// seen returns a place without a finding.
func seen(place, state, what string) Place { return Place{Place: place, State: state, Seen: what} }

// wrong returns a place with a finding. The pairs are the values of what to change.
func wrong(place string, f *Finding, what string, pairs ...string) Place {
	return Place{Place: place, State: Wrong, Seen: what, Finding: f.Name, Change: f.with(pairs...)}
}

// add adds places to a report; the first finding is the one of the exit code.
func (r *Report) add(places ...Place) {
	r.Places = append(r.Places, places...)
	for _, p := range places {
		if p.State != Wrong || r.ExitCode != 0 {
			continue
		}
		for _, f := range findings {
			if f.Name == p.Finding {
				r.ExitCode = f.Code
			}
		}
	}
	r.OK = r.ExitCode == 0
}

// short returns a duration without digits that nobody reads.
func short(d time.Duration) string {
	if d >= time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return max(d.Round(time.Millisecond), time.Millisecond).String()
}
