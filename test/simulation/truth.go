package simulation

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// Span is a span that a run sends, with what a reader can know of it.
type Span struct {
	Run      string // "" where nothing connects it with a run: neither its resource nor its trace
	TraceID  pcommon.TraceID
	SpanID   pcommon.SpanID
	ParentID pcommon.SpanID // empty for a root
	Name     string
	Process  *Process
	Start    time.Time // by the clock of its process
	End      time.Time
	Error    bool
	Copies   int // how often it is sent
}

// Truth is what a run sent, each span counted once.
type Truth struct {
	Run         string
	Spans       int
	Traces      int
	Errors      int
	First, Last time.Time // the first start and the last end
	// Unnamed are those of Spans whose resource does not name the run: only their trace does.
	Unnamed   int
	Services  map[string]Count
	Processes map[string]ProcessTruth // by Process.Name
	Stages    []StageTruth            // by service and name
	// Orphans are the spans whose parent was not sent.
	Orphans []Span
	// Rootless are the traces whose root was not sent.
	Rootless []pcommon.TraceID
	// Repeated are the spans that were sent more than once.
	Repeated []Span
	// Clock holds the pairs of processes where children lie outside of their parents.
	Clock map[ClockPair]ClockTruth
	// NoRun are the spans that nothing connects with a run, by process. They are not in the counts above.
	NoRun map[string]int
}

// Count is a number of spans, and of those with an error status.
type Count struct{ Spans, Errors int }

// ProcessTruth is what a process sent.
type ProcessTruth struct {
	Count
	Process     *Process
	First, Last time.Time
}

// StageTruth are the spans of one name and service.
type StageTruth struct {
	Count
	Service, Name string
	Durations     []time.Duration // sorted
}

// ClockPair is a process with spans below spans of another one. Both are names.
type ClockPair struct{ Process, Against string }

// ClockTruth is how the children lie to their parents.
type ClockTruth struct {
	Pairs, Outside int
	Before, After  time.Duration // at most
}

// Name of the process, as the viewer names it.
func (p *Process) Name() string {
	if p.PID == 0 {
		return p.Host
	}
	return p.Host + ":" + strconv.FormatInt(p.PID, 10)
}

// Spans returns the spans that the run sends, each once.
func (r *Run) Spans() []Span {
	named := map[pcommon.TraceID]bool{}
	for _, sp := range r.spans {
		named[sp.trace] = named[sp.trace] || sp.process.KnowsRun
	}
	spans := make([]Span, len(r.spans))
	for i, sp := range r.spans {
		spans[i] = Span{
			TraceID: sp.trace, SpanID: sp.id, ParentID: sp.parent, Name: sp.name, Process: sp.process,
			Start: r.time(sp.process, sp.start), End: r.time(sp.process, sp.end), Error: sp.failed, Copies: sp.copies,
		}
		if named[sp.trace] {
			spans[i].Run = r.ID
		}
	}
	return spans
}

// Truth returns what the run sends in all.
func (r *Run) Truth() Truth {
	t := Truth{
		Run: r.ID, Services: map[string]Count{}, Processes: map[string]ProcessTruth{},
		Clock: map[ClockPair]ClockTruth{}, NoRun: map[string]int{},
	}
	spans := r.Spans()
	byID := map[pcommon.SpanID]Span{}
	rooted := map[pcommon.TraceID]bool{}
	for _, sp := range spans {
		byID[sp.SpanID] = sp
		if sp.Run == "" {
			t.NoRun[sp.Process.Name()]++
			continue
		}
		rooted[sp.TraceID] = rooted[sp.TraceID] || sp.ParentID.IsEmpty()
	}
	stages := map[[2]string]*StageTruth{}
	for _, sp := range spans {
		if sp.Run == "" {
			continue
		}
		t.count(sp)
		key := [2]string{sp.Process.Service, sp.Name}
		if stages[key] == nil {
			stages[key] = &StageTruth{Service: sp.Process.Service, Name: sp.Name}
		}
		stages[key].add(sp)
		if sp.ParentID.IsEmpty() {
			continue
		}
		if parent, sent := byID[sp.ParentID]; sent {
			t.compare(sp, parent)
		} else {
			t.Orphans = append(t.Orphans, sp)
		}
	}
	t.Traces = len(rooted)
	for trace, has := range rooted {
		if !has {
			t.Rootless = append(t.Rootless, trace)
		}
	}
	slices.SortFunc(t.Rootless, func(a, b pcommon.TraceID) int { return slices.Compare(a[:], b[:]) })
	for _, key := range slices.SortedFunc(maps.Keys(stages), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		slices.Sort(stages[key].Durations)
		t.Stages = append(t.Stages, *stages[key])
	}
	return t
}

func (t *Truth) count(sp Span) {
	t.Spans++
	if sp.Error {
		t.Errors++
	}
	if !sp.Process.KnowsRun {
		t.Unnamed++
	}
	if sp.Copies > 1 {
		t.Repeated = append(t.Repeated, sp)
	}
	t.First, t.Last = around2(t.First, t.Last, sp)
	service := t.Services[sp.Process.Service]
	service.add(sp)
	t.Services[sp.Process.Service] = service
	process := t.Processes[sp.Process.Name()]
	process.add(sp)
	process.Process = sp.Process
	process.First, process.Last = around2(process.First, process.Last, sp)
	t.Processes[sp.Process.Name()] = process
}

// compare looks at a span and its parent in another process.
func (t *Truth) compare(sp, parent Span) {
	if sp.Process == parent.Process {
		return
	}
	pair := ClockPair{sp.Process.Name(), parent.Process.Name()}
	c := t.Clock[pair]
	c.Pairs++
	before, after := parent.Start.Sub(sp.Start), sp.End.Sub(parent.End)
	if before > 0 || after > 0 {
		c.Outside++
	}
	c.Before, c.After = max(c.Before, before), max(c.After, after)
	t.Clock[pair] = c
}

func (c *Count) add(sp Span) {
	c.Spans++
	if sp.Error {
		c.Errors++
	}
}

func (s *StageTruth) add(sp Span) {
	s.Count.add(sp)
	s.Durations = append(s.Durations, sp.End.Sub(sp.Start))
}

// Percentile returns the duration at the nearest rank: the smallest one that p percent of the spans do
// not exceed.
func (s *StageTruth) Percentile(p int) time.Duration {
	rank := (p*len(s.Durations) + 99) / 100
	return s.Durations[max(rank, 1)-1]
}

// Sum of the durations.
func (s *StageTruth) Sum() time.Duration {
	var sum time.Duration
	for _, d := range s.Durations {
		sum += d
	}
	return sum
}

// around2 returns the two times, moved so that the span lies between them.
func around2(first, last time.Time, sp Span) (time.Time, time.Time) {
	if first.IsZero() || sp.Start.Before(first) {
		first = sp.Start
	}
	if sp.End.After(last) {
		last = sp.End
	}
	return first, last
}
