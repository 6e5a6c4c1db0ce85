package runindex

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// State says how far a catalogue is.
type State string

// The states.
const (
	// StateWaiting: there is no file yet.
	StateWaiting State = "waiting"
	// StateReading: the files are being read, the counts are of what was read so far.
	StateReading State = "reading"
	// StateReady: the counts are of all lines that were there at the last look.
	StateReady State = "ready"
)

// Snapshot is what a catalogue knew at a moment. It does not change, and must not be changed.
type Snapshot struct {
	// Version is another one whenever anything else in the snapshot is.
	Version uint64
	State   State
	// Reason says why State is not StateReady; "" when it is.
	Reason string
	// Read and Total are the bytes of all files that were read, and that there are. What is behind the
	// last newline of a file is not read.
	Read, Total int64
	// Files are in the order of their logs and segments.
	Files []FileInfo
	// Runs are sorted by their ids.
	Runs []*RunInfo
	// NoRun are those that sent spans without a valid run id.
	NoRun    []Sender
	BadLines BadLines
	// LeftOut are the spans of runs beyond the first 100,000, which are in no other count.
	LeftOut int64
}

// Run returns a run, nil where there is none of this id.
func (s *Snapshot) Run(id string) *RunInfo {
	i, found := slices.BinarySearchFunc(s.Runs, id, func(r *RunInfo, id string) int { return strings.Compare(r.ID, id) })
	if !found {
		return nil
	}
	return s.Runs[i]
}

// FileInfo is one file.
type FileInfo struct {
	Name        string // its path
	Bytes, Read int64
	// Problem says why not all of it is read; "" where it is.
	Problem string
}

// RunInfo is one run. Times are nanoseconds since 1970 in UTC, 0 where no span says one. The spans of
// lines that are there twice count twice.
type RunInfo struct {
	ID string
	// Version is that of the first snapshot that has the run as it is here.
	Version uint64
	// Services and Processes are sorted by their names.
	Services  []ServiceInfo
	Processes []ProcessInfo
	// First is the earliest start of a span, Last the latest end or start.
	First, Last           int64
	Spans, Traces, Errors int64
	// Bytes are those of the lines that hold its spans, which may hold spans of other runs too.
	Bytes int64
	// Changed is when a line of it was last seen to be added: for what was there at the first look, when
	// its last span ended.
	Changed time.Time
}

// ServiceInfo is one service.name of a run.
type ServiceInfo struct {
	Service       string
	Spans, Errors int64
}

// ProcessInfo is one process of a run, as far as it is of one service.
type ProcessInfo struct {
	Process, NamedBy string // as in tracefile.Process
	Service          string
	Spans, Errors    int64
	First, Last      int64
}

// Sender is a process that sent spans without a run.
type Sender struct {
	Service, Process string
	Spans            int64
	Last             int64
}

// BadLines are the lines that could not be read.
type BadLines struct {
	Count int64
	// Lines are some of them: the first ones of each file.
	Lines []BadLine
}

// BadLine is a line that could not be read.
type BadLine struct {
	File          string // path
	Offset, Bytes int64  // Bytes with the newline
	Reason        string
}

// Snapshot returns what the catalogue knows now, never nil. It costs nothing where nothing has changed
// since the last call, and otherwise something for each run that has.
func (c *Catalogue) Snapshot() *Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.snapshot == nil || c.snapshot.Version != c.version {
		c.snapshot = c.newSnapshot()
	}
	return c.snapshot
}

// newSnapshot returns that of the present version, with the runs of the last one that are the same.
func (s *state) newSnapshot() *Snapshot {
	snap := &Snapshot{
		Version: s.version, State: s.stage, Reason: s.reason, LeftOut: s.leftOut,
		Runs: make([]*RunInfo, 0, len(s.runs)),
	}
	for _, f := range s.files {
		snap.Read += f.read
		snap.Total += f.size
		snap.BadLines.Count += f.badLines
		for _, bad := range f.bad {
			bad.File = f.path
			snap.BadLines.Lines = append(snap.BadLines.Lines, bad)
		}
		snap.Files = append(snap.Files, FileInfo{Name: f.path, Bytes: f.size, Read: f.read, Problem: f.problem})
	}
	snap.Files = append(snap.Files, s.apart...)
	for _, r := range s.runs {
		if r.id == "" {
			snap.NoRun = r.senders()
			continue
		}
		if r.info == nil || r.info.Version != r.version {
			r.info = r.newInfo()
		}
		snap.Runs = append(snap.Runs, r.info)
	}
	slices.SortFunc(snap.Runs, func(a, b *RunInfo) int { return strings.Compare(a.ID, b.ID) })
	return snap
}

func (r *run) newInfo() *RunInfo {
	info := &RunInfo{ID: r.id, Version: r.version, Traces: r.traces}
	if r.changed > 0 {
		info.Changed = time.Unix(0, r.changed)
	}
	services := map[string]*ServiceInfo{}
	processes := map[*sender]*ProcessInfo{}
	for _, part := range r.parts {
		info.Bytes += part.bytes
		for _, g := range part.groups {
			info.Spans += g.spans
			info.Errors += g.errors
			info.First, info.Last = earlier(info.First, g.first), max(info.Last, g.last)
			s := services[g.sender.service]
			if s == nil {
				s = &ServiceInfo{Service: g.sender.service}
				services[g.sender.service] = s
			}
			s.Spans += g.spans
			s.Errors += g.errors
			p := processes[g.sender]
			if p == nil {
				p = &ProcessInfo{Process: g.sender.process.Name, NamedBy: g.sender.process.NamedBy, Service: g.sender.service}
				processes[g.sender] = p
			}
			p.Spans += g.spans
			p.Errors += g.errors
			p.First, p.Last = earlier(p.First, g.first), max(p.Last, g.last)
		}
	}
	for _, s := range services {
		info.Services = append(info.Services, *s)
	}
	slices.SortFunc(info.Services, func(a, b ServiceInfo) int { return strings.Compare(a.Service, b.Service) })
	for _, p := range processes {
		info.Processes = append(info.Processes, *p)
	}
	slices.SortFunc(info.Processes, func(a, b ProcessInfo) int {
		return cmp.Or(strings.Compare(a.Process, b.Process), strings.Compare(a.Service, b.Service),
			strings.Compare(a.NamedBy, b.NamedBy))
	})
	return info
}

func (r *run) senders() []Sender {
	var senders []Sender
	for _, p := range r.newInfo().Processes {
		senders = append(senders, Sender{Service: p.Service, Process: p.Process, Spans: p.Spans, Last: p.Last})
	}
	return senders
}

// earlier returns the lesser of two times, of which 0 is none.
func earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
