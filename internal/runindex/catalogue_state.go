package runindex

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/runspan/runspan/internal/tracefile"
)

// state is what a catalogue knows.
type state struct {
	version  uint64
	stage    State
	reason   string
	files    []*file // that are read, in their order unless unsorted
	unsorted bool
	ids      map[uint32]*file
	apart    []FileInfo // that are there and not read
	runs     map[string]*run
	numbers  []*run // by number; nil where a run is gone
	senders  map[sender]*sender
	others   *sender
	traces   traceTable
	leftOut  int64  // spans of runs beyond mostRuns
	nextID   uint32 // of a file; 0 is none
	nextOf   int    // of a mark; 0 is none
}

func newState() state {
	return state{
		version: 1,
		stage:   StateReading,
		reason:  "the files have not been looked at yet",
		ids:     map[uint32]*file{},
		runs:    map[string]*run{},
		senders: map[sender]*sender{},
		others:  &sender{service: Others, process: tracefile.Process{Name: Others}},
		nextID:  1,
		nextOf:  1,
	}
}

// run is one run, and the one with the id "" all spans without a run.
type run struct {
	id      string
	number  uint32
	version uint64 // of its last change
	parts   []*part
	lines   lineList
	of      int // of its marks: another one when lines went away
	traces  int64
	changed int64    // ns since 1970
	info    *RunInfo // of the last snapshot that was asked for
}

// part is what one file holds of a run.
type part struct {
	file   *file
	run    *run
	groups []*group
	find   map[*sender]*group // where there are many
	bytes  int64
	end    int64 // of the last line that was added
}

// group are the spans of one sender.
type group struct {
	sender        *sender
	spans, errors int64
	first, last   int64
}

// sender is a service of a process.
type sender struct {
	service string
	process tracefile.Process
}

// What a hostile writer can make the catalogue remember is bounded: beyond it, spans are counted together.
const (
	mostRuns    = 100_000
	mostSenders = 200_000
	mostGroups  = 10_000 // of a run in a file
	longestName = 1024   // bytes
)

// Others stands for the services and the processes of a run beyond the first 10,000.
const Others = "(others)"

// manyGroups is from how many groups on a map is faster than looking at each.
const manyGroups = 16

// add adds the spans of a line to what is known.
func (s *state) add(f *file, offset, size int64, facts *tracefile.Facts, now time.Time) {
	s.version++
	old := offset < f.initial // it was there before anybody looked
	var last *tracefile.SpanFacts
	var p *part
	var g *group
	for i := range facts.Spans {
		span := &facts.Spans[i]
		if unassigned(span.Run) {
			span.Run = "" // the run_id processor has found no run for it
		}
		if last == nil || span.Run != last.Run {
			if p = s.partOf(f, span.Run); p == nil {
				s.leftOut++
				continue
			}
			p.addLine(offset, size)
			p.run.version = s.version
			if !old {
				p.run.changed = now.UnixNano()
			}
			last = nil
		}
		if last == nil || span.Service != last.Service || span.Process != last.Process {
			g = s.groupOf(p, span.Service, facts.Processes[span.Process])
		}
		last = span
		g.spans++
		if span.Failed {
			g.errors++
		}
		first, end := spanTimes(span)
		g.first, g.last = earlier(g.first, first), max(g.last, end)
		if old && end > p.run.changed && end < now.UnixNano() {
			p.run.changed = end
		}
		if s.traces.add(span.Trace, p.run.number, f.id) {
			p.run.traces++
		}
	}
}

// spanTimes returns when a span began and ended, 0 for what it does not say.
func spanTimes(span *tracefile.SpanFacts) (first, last int64) {
	start, end := span.Start, span.End
	if start > math.MaxInt64 { // after the year 2262
		start = 0
	}
	if end > math.MaxInt64 {
		end = 0
	}
	return int64(start), int64(max(start, end))
}

// partOf returns the part that a file has of a run, nil where there are too many runs.
func (s *state) partOf(f *file, id string) *part {
	if p := f.parts[id]; p != nil {
		return p
	}
	r := s.runs[id]
	if r == nil && len(s.runs) >= mostRuns {
		return nil
	}
	if r == nil {
		r = &run{id: strings.Clone(id), of: s.newOf(), number: uint32(len(s.numbers))}
		s.runs[r.id] = r
		s.numbers = append(s.numbers, r)
	}
	p := &part{file: f, run: r, end: -1}
	r.parts = append(r.parts, p)
	f.parts[r.id] = p
	return p
}

func (s *state) newOf() int {
	s.nextOf++
	return s.nextOf - 1
}

// addLine notes that a line holds spans of the run.
func (p *part) addLine(offset, size int64) {
	if p.end == offset+size {
		return
	}
	p.end = offset + size
	p.bytes += size
	p.run.lines.add(p.file.id, offset, size)
}

// groupOf returns the spans that a service of a process has in a part.
func (s *state) groupOf(p *part, service string, process tracefile.Process) *group {
	of := s.senderOf(service, process)
	g := p.known(of)
	if g == nil && len(p.groups) >= mostGroups {
		of = s.others
		g = p.known(of)
	}
	if g != nil {
		return g
	}
	return p.addGroup(of)
}

func (p *part) addGroup(of *sender) *group {
	g := &group{sender: of}
	p.groups = append(p.groups, g)
	switch {
	case p.find != nil:
		p.find[of] = g
	case len(p.groups) > manyGroups:
		p.find = map[*sender]*group{}
		for _, g := range p.groups {
			p.find[g.sender] = g
		}
	}
	return g
}

func (p *part) known(of *sender) *group {
	if p.find != nil {
		return p.find[of]
	}
	for _, g := range p.groups {
		if g.sender == of {
			return g
		}
	}
	return nil
}

func (s *state) senderOf(service string, process tracefile.Process) *sender {
	if known := s.senders[sender{service, process}]; known != nil {
		return known
	}
	if len(s.senders) >= mostSenders {
		return s.others
	}
	of := sender{cut(service), tracefile.Process{Name: cut(process.Name), NamedBy: process.NamedBy}}
	known := s.senders[of]
	if known == nil {
		known = &of
		s.senders[of] = known
	}
	return known
}

// cut returns a copy of a name, up to longestName. A part of a line would keep the line.
func cut(name string) string {
	if len(name) <= longestName {
		return strings.Clone(name)
	}
	return strings.ToValidUTF8(name[:longestName], "") + "…"
}

// addFile begins to know a file.
func (s *state) addFile(f *file) {
	s.files = append(s.files, f)
	s.unsorted = true
	s.begin(f)
}

// begin gives a file of which nothing is known an id.
func (s *state) begin(f *file) {
	f.id = s.nextID
	s.nextID++
	s.ids[f.id] = f
	f.parts = map[string]*part{}
	f.read, f.lookFrom, f.badLines, f.bad, f.proof = 0, 0, 0, nil, proof{}
	s.version++
}

// forget takes away what files told.
func (s *state) forget(files ...*file) {
	if len(files) == 0 {
		return
	}
	s.version++
	gone := map[uint32]bool{}
	for _, f := range files {
		gone[f.id] = true
		delete(s.ids, f.id)
	}
	// One walk through all traces for all files: they may be thousands.
	s.traces.drop(gone, func(number uint32) { s.numbers[number].traces-- })
	changed := map[*run]bool{}
	for _, f := range files {
		for _, p := range f.parts {
			changed[p.run] = true
		}
		f.parts = nil
	}
	for r := range changed {
		r.parts = slices.DeleteFunc(r.parts, func(p *part) bool { return gone[p.file.id] })
		r.version = s.version
		if len(r.parts) == 0 {
			delete(s.runs, r.id)
			s.numbers[r.number] = nil
			continue
		}
		r.lines = r.lines.without(gone)
		r.of = s.newOf()
	}
}

// remove forgets files for good.
func (s *state) remove(files ...*file) {
	s.forget(files...)
	s.files = slices.DeleteFunc(s.files, func(f *file) bool { return f.parts == nil })
}
