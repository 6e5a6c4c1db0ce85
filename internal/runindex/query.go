package runindex

import (
	"time"
)

// LiveFor is how long after its last line a run is called live.
const LiveFor = 30 * time.Second

// Time is unix nanoseconds; in JSON RFC 3339 in UTC, null for none.
type Time int64

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	if t == 0 {
		return []byte("null"), nil
	}
	return time.Unix(0, int64(t)).UTC().AppendFormat(nil, `"`+time.RFC3339Nano+`"`), nil
}

// The reasons of Partial.
const (
	// PartialReading says that the run is still being read: the next answer has more.
	PartialReading = "reading"
	// PartialMemory says that there is no memory for more of it.
	PartialMemory = "memory_limit"
	// PartialError says that a file cannot be read.
	PartialError = "read_error"
	// PartialTime says that a search was not through in its time: the next answer goes on.
	PartialTime = "time_limit"
)

// Partial says of how much of a run an answer is.
type Partial struct {
	Reason     string `json:"reason"`
	SpansRead  int64  `json:"spans_read"`
	SpansTotal int64  `json:"spans_total"`
}

// partial returns a Partial for a reason, nil for none.
func (o *OpenedRun) partial(reason string) *Partial {
	if reason == "" {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	p := &Partial{Reason: reason, SpansRead: o.spansRead, SpansTotal: o.spansRead}
	if info := o.info(); info != nil {
		p.SpansTotal = max(p.SpansRead, info.Spans)
	}
	return p
}

// info returns what the catalogue knows of the run, nil where that is nothing.
func (o *OpenedRun) info() *RunInfo { return o.runs.source.Snapshot().Run(o.id) }

// serviceFilter is a service by which an answer is narrowed.
type serviceFilter struct {
	all     bool
	service uint32
	known   bool
}

func (c *columns) filter(service string) serviceFilter {
	if service == "" {
		return serviceFilter{all: true}
	}
	row, ok := c.byService[service]
	return serviceFilter{service: row, known: ok}
}

func (f serviceFilter) passes(service uint32) bool { return f.all || f.known && service == f.service }

// hasService reports whether a trace has a span that passes.
func (c *columns) hasService(trace uint32, f serviceFilter) bool {
	if f.all || !f.known {
		return f.all
	}
	t := &c.traces[trace]
	if t.services&serviceBit(f.service) == 0 {
		return false
	}
	if f.service < 63 {
		return true
	}
	for row := t.last; row >= 0; row = c.before[row] {
		if c.serviceOfRow(row) == f.service {
			return true
		}
	}
	return false
}

// Live reports whether a line of the run was added within the last LiveFor.
func (r *RunInfo) Live(now time.Time) bool { return now.Sub(r.Changed) < LiveFor }
