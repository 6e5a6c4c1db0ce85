package runindex

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/runspan/runspan/internal/tracefile"
)

type State string

const (
	StateWaiting State = "waiting"
	StateReading State = "reading"
	StateReady   State = "ready"
)

type Mark struct{ Of, N int }

type LineRef struct {
	File   string
	Offset int64
	Bytes  int64
}

var ErrGone = errors.New("the file is another one by now")

type Snapshot struct {
	Version     uint64
	State       State
	Reason      string
	Read, Total int64
	Files       []FileInfo
	Runs        []*RunInfo
	NoRun       []Sender
	BadLines    BadLines
}

type FileInfo struct {
	Name        string
	Bytes, Read int64
	Problem     string
}
type Sender struct {
	Service, Process string
	Spans            int64
	Last             int64
}
type BadLines struct {
	Count int64
	Lines []BadLine
}
type BadLine struct {
	File          string
	Offset, Bytes int64
	Reason        string
}
type RunInfo struct {
	ID                           string
	Version                      uint64
	Services                     []ServiceInfo
	First, Last                  int64
	Spans, Traces, Errors, Bytes int64
	Processes                    []ProcessInfo
	Changed                      time.Time
}
type ServiceInfo struct {
	Service       string
	Spans, Errors int64
}
type ProcessInfo struct {
	Process, NamedBy, Service string
	Spans, Errors             int64
	First, Last               int64
}
type Options struct {
	Files    []string
	CacheDir string
	Poll     time.Duration
	Warn     func(string)
}

// Catalogue is a placeholder that reads everything into memory.
type Catalogue struct {
	opts Options
	mu   sync.Mutex
	snap *Snapshot
	of   int
	read map[string]int64
	head map[string][]byte
	refs []placed
	runs map[string]*RunInfo
	ofT  map[[16]byte][]string
	none map[[2]string]*Sender
	bad  BadLines
}

type placed struct {
	ref  LineRef
	runs []string
}

func Open(opts Options) (*Catalogue, error) {
	c := &Catalogue{opts: opts}
	c.reset()
	c.look()
	return c, nil
}

func (c *Catalogue) reset() {
	c.of++
	c.read, c.head, c.refs, c.runs = map[string]int64{}, map[string][]byte{}, nil, map[string]*RunInfo{}
	c.ofT, c.none, c.bad = map[[16]byte][]string{}, map[[2]string]*Sender{}, BadLines{}
}

func (c *Catalogue) files() (all []string) {
	for _, f := range c.opts.Files {
		m, _ := filepath.Glob(f)
		all = append(all, m...)
		m, _ = filepath.Glob(strings.TrimSuffix(f, ".jsonl") + "-*.jsonl")
		all = append(all, m...)
	}
	slices.SortFunc(all, tracefile.CompareFiles)
	return slices.Compact(all)
}

func (c *Catalogue) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	files := c.files()
	for name, head := range c.head {
		data, _ := os.ReadFile(name)
		if int64(len(data)) < c.read[name] || !bytes.HasPrefix(data, head) {
			c.reset()
			break
		}
	}
	s := &Snapshot{State: StateReady}
	for _, name := range files {
		c.scan(name)
		s.Files = append(s.Files, FileInfo{Name: name, Bytes: c.read[name], Read: c.read[name]})
		s.Read += c.read[name]
		s.Total += c.read[name]
	}
	if len(files) == 0 {
		s.State, s.Reason = StateWaiting, "waiting for "+strings.Join(c.opts.Files, ", ")
	}
	for _, r := range c.runs {
		copied := *r
		copied.Services, copied.Processes = slices.Clone(r.Services), slices.Clone(r.Processes)
		s.Runs = append(s.Runs, &copied)
	}
	for _, n := range c.none {
		s.NoRun = append(s.NoRun, *n)
	}
	s.BadLines = BadLines{c.bad.Count, slices.Clone(c.bad.Lines)}
	s.Version = uint64(s.Read) + uint64(c.of)<<48
	c.snap = s
}

func (c *Catalogue) scan(name string) {
	f, err := os.Open(name)
	if err != nil {
		return
	}
	defer f.Close()
	info, _ := f.Stat()
	from := c.read[name]
	if info.Size() <= from {
		return
	}
	if c.head[name] == nil {
		head := make([]byte, min(512, info.Size()))
		_, _ = f.ReadAt(head, 0)
		c.head[name] = head
	}
	part := io.NewSectionReader(f, from, info.Size()-from)
	sum, _ := tracefile.Scan(context.Background(), part, info.Size()-from, tracefile.ScanOptions{}, func(l *tracefile.ScannedLine) error {
		if l.Bad != nil {
			c.bad.Count++
			c.bad.Lines = append(c.bad.Lines, BadLine{name, from + l.Offset, l.Bytes, l.Bad.Error()})
			return nil
		}
		p := placed{ref: LineRef{File: name, Offset: from + l.Offset, Bytes: l.Bytes}}
		for sp := range tracefile.SpansOf(l.Traces) {
			p.runs = c.span(&sp, p.runs, l.Bytes)
		}
		c.refs = append(c.refs, p)
		return nil
	})
	c.read[name] += sum.Bytes
}

func (c *Catalogue) span(sp *tracefile.RunSpan, runs []string, bytes int64) []string {
	run, service := strings.Clone(sp.Run), strings.Clone(sp.Service)
	proc := processNameOf(sp.Resource.Resource().Attributes())
	failed := int64(0)
	if sp.Status().Code() == ptrace.StatusCodeError {
		failed = 1
	}
	end := int64(sp.EndTimestamp())
	first := !slices.Contains(runs, run)
	if first {
		runs = append(runs, run)
	}
	if run == "" {
		key := [2]string{service, proc.Process}
		if c.none[key] == nil {
			c.none[key] = &Sender{Service: service, Process: proc.Process}
		}
		c.none[key].Spans++
		c.none[key].Last = max(c.none[key].Last, end)
		return runs
	}
	r := c.runs[run]
	if r == nil {
		r = &RunInfo{ID: run, First: int64(sp.StartTimestamp())}
		c.runs[run] = r
	}
	if first {
		r.Bytes += bytes
	}
	r.Version, r.Changed = r.Version+1, time.Now()
	r.Spans++
	r.Errors += failed
	r.First, r.Last = min(r.First, int64(sp.StartTimestamp())), max(r.Last, end)
	i := slices.IndexFunc(r.Services, func(s ServiceInfo) bool { return s.Service == service })
	if i < 0 {
		i = len(r.Services)
		r.Services = append(r.Services, ServiceInfo{Service: service})
	}
	r.Services[i].Spans++
	r.Services[i].Errors += failed
	if !slices.ContainsFunc(r.Processes, func(p ProcessInfo) bool { return p.Process == proc.Process && p.Service == service }) {
		r.Processes = append(r.Processes, ProcessInfo{Process: proc.Process, NamedBy: proc.NamedBy, Service: service})
	}
	if t := sp.TraceID(); !slices.Contains(c.ofT[t], run) {
		c.ofT[t] = append(c.ofT[t], run)
		r.Traces++
	}
	return runs
}

func (c *Catalogue) Run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(cmp.Or(c.opts.Poll, 200*time.Millisecond)):
			c.look()
		}
	}
}

func (c *Catalogue) Close() error { return nil }

func (c *Catalogue) Snapshot() *Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.snap
}

func (c *Catalogue) Lines(run string, after Mark) (lines []LineRef, mark Mark, reset bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if after.Of != c.of {
		reset = after != Mark{}
		after = Mark{Of: c.of}
	}
	for _, p := range c.refs[after.N:] {
		if slices.Contains(p.runs, run) {
			lines = append(lines, p.ref)
		}
	}
	return lines, Mark{c.of, len(c.refs)}, reset
}

func (c *Catalogue) ReadLine(ref LineRef, buf []byte) ([]byte, error) {
	f, err := os.Open(ref.File)
	if err != nil {
		return nil, ErrGone
	}
	defer f.Close()
	buf = append(buf, make([]byte, ref.Bytes-1)...)
	if _, err := f.ReadAt(buf, ref.Offset); err != nil {
		return nil, ErrGone
	}
	return buf, nil
}

func (c *Catalogue) RunsOfTrace(id [16]byte) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.ofT[id])
}
