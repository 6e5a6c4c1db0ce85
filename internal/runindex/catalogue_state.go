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
	version uint64
	stage   State
	reason  string
	files   []*file    // that are read, in their order
	ids     map[uint32]*file
	apart   []FileInfo // that are there and not read
	runs    map[string]*run
	numbers []*run // by number; nil where a run is gone
	senders map[sender]*sender
	traces  traceTable
	nextID  uint32 // of a file; 0 is none
	nextOf  int    // of a mark; 0 is none
}

func newState() state {
	return state{
		version: 1,
		stage:   StateReading,
		reason:  "the files have not been looked at yet",
		ids:     map[uint32]*file{},
		runs:    map[string]*run{},
		senders: map[sender]*sender{},
		traces:  newTraceTable(),
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
	changed time.Time
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
		if last == nil || span.Run != last.Run {
			p = s.partOf(f, span.Run)
			p.addLine(offset, size)
			p.run.version = s.version
			if !old {
				p.run.changed = now
			}
			last = nil
		}
		if last == nil || span.Service != last.Service || span.Process != last.Process {
			g = p.groupOf(s.senderOf(span.Service, facts.Processes[span.Process]))
		}
		last = span
		g.spans++
		if span.Failed {
			g.errors++
		}
		first, end := spanTimes(span)
		g.first, g.last = earlier(g.first, first), max(g.last, end)
		if ended := time.Unix(0, end); old && ended.After(p.run.changed) && ended.Before(now) {
			p.run.changed = ended
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

func (s *state) partOf(f *file, id string) *part {
	if p := f.parts[id]; p != nil {
		return p
	}
	r := s.runs[id]
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

func (p *part) groupOf(of *sender) *group {
	if p.find != nil {
		if g := p.find[of]; g != nil {
			return g
		}
	} else {
		for _, g := range p.groups {
			if g.sender == of {
				return g
			}
		}
	}
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

func (s *state) senderOf(service string, process tracefile.Process) *sender {
	if known := s.senders[sender{service, process}]; known != nil {
		return known
	}
	// A part of a line would keep the line.
	of := &sender{strings.Clone(service), tracefile.Process{
		Name: strings.Clone(process.Name), NamedBy: strings.Clone(process.NamedBy),
	}}
	s.senders[*of] = of
	return of
}

// addFile begins to know a file.
func (s *state) addFile(f *file) {
	s.files = append(s.files, f)
	s.begin(f)
}

// begin gives a file of which nothing is known an id.
func (s *state) begin(f *file) {
	f.id = s.nextID
	s.nextID++
	s.ids[f.id] = f
	f.parts = map[string]*part{}
	f.read, f.lookFrom, f.badLines, f.bad = 0, 0, 0, nil
	s.version++
}

// forget takes away what a file told.
func (s *state) forget(f *file) {
	s.version++
	s.traces.drop(f.id, func(number uint32) { s.numbers[number].traces-- })
	for id, p := range f.parts {
		r := p.run
		r.parts = slices.DeleteFunc(r.parts, func(other *part) bool { return other == p })
		r.version = s.version
		if len(r.parts) == 0 {
			delete(s.runs, id)
			s.numbers[r.number] = nil
			continue
		}
		r.lines = r.lines.without(f.id)
		r.of = s.newOf()
	}
	delete(s.ids, f.id)
}

// remove forgets a file for good.
func (s *state) remove(f *file) {
	s.forget(f)
	s.files = slices.DeleteFunc(s.files, func(other *file) bool { return other == f })
}
