package runindex

import (
	"cmp"
	"slices"
	"time"
)

// Summary is what a run is made of.
type Summary struct {
	RunID      string           `json:"run_id"`
	First      Time             `json:"first"`
	Last       Time             `json:"last"`
	DurationNS int64            `json:"duration_ns"`
	Live       bool             `json:"live"`
	Spans      int64            `json:"spans"`
	Traces     int64            `json:"traces"`
	Errors     int64            `json:"errors"`
	Bytes      int64            `json:"bytes"` // of the lines that hold its spans
	Services   []SummaryService `json:"services"`
	Processes  []SummaryProcess `json:"processes"`
	Rate       Rate             `json:"rate"`
	Missing    MissingCounts    `json:"missing"`
}

// SummaryService is a service of a run.
type SummaryService struct {
	Service string `json:"service"`
	Spans   int64  `json:"spans"`
	Errors  int64  `json:"errors"`
}

// SummaryProcess is a process of a run.
type SummaryProcess struct {
	Process string `json:"process"`
	NamedBy string `json:"named_by"`
	Service string `json:"service"`
	Spans   int64  `json:"spans"`
	Errors  int64  `json:"errors"`
	First   Time   `json:"first"`
	Last    Time   `json:"last"`
}

// Rate counts the starts of spans over time.
type Rate struct {
	Start  Time    `json:"start"`
	StepNS int64   `json:"step_ns"`
	Spans  []int64 `json:"spans"`
	Errors []int64 `json:"errors"`
}

// MissingCounts are how many there are of what Missing lists.
type MissingCounts struct {
	Orphans        int64 `json:"orphans"`
	RootlessTraces int64 `json:"rootless_traces"`
	Duplicates     int64 `json:"duplicates"`
	Joined         int64 `json:"joined"`
	Clock          int64 `json:"clock"`
}

// Summary returns what the spans of a service are, "" for all.
func (o *OpenedRun) Summary(service string) *Summary {
	s := &Summary{RunID: o.id, Services: []SummaryService{}, Processes: []SummaryProcess{}}
	if info := o.info(); info != nil {
		s.Bytes, s.Live = info.Bytes, info.Live(time.Now())
	}
	o.lookAt(func(c *columns) { c.summary(s, c.filter(service)) })
	return s
}

func (c *columns) summary(s *Summary, f serviceFilter) {
	services := make([]SummaryService, len(c.services))
	processes := make([]SummaryProcess, len(c.processTable))
	var all, starts window
	for row := range int32(len(c.trace)) {
		service := c.serviceOfRow(row)
		if !f.passes(service) {
			continue
		}
		isError := int64(c.flags[row] & flagError)
		start, end := c.start[row], c.endOf(row)
		s.Spans++
		s.Errors += isError
		all.add(start, end)
		starts.add(start, start)
		services[service].Spans++
		services[service].Errors += isError
		p := &processes[c.process[row]]
		if p.Spans == 0 || start < int64(p.First) {
			p.First = Time(start)
		}
		p.Spans++
		p.Errors += isError
		p.Last = max(p.Last, Time(end))
		if c.flags[row]&flagJoined != 0 {
			s.Missing.Joined++
		}
		if c.above[row] == parentMissing {
			s.Missing.Orphans++
		}
	}
	for row := range c.copies {
		if f.passes(c.serviceOfRow(int32(row))) {
			s.Missing.Duplicates++
		}
	}
	for trace := range c.traces {
		if c.hasService(uint32(trace), f) {
			s.Traces++
			if !c.traces[trace].hasRoot {
				s.Missing.RootlessTraces++
			}
		}
	}
	s.First, s.Last, s.DurationNS = Time(all.first), Time(all.last), all.last-all.first
	for i := range services {
		services[i].Service = c.services[i]
	}
	for i, p := range c.processTable {
		processes[i].Process, processes[i].NamedBy, processes[i].Service = p.name, p.namedBy, c.services[p.service]
	}
	s.Services = append(s.Services, slices.DeleteFunc(services, func(s SummaryService) bool { return s.Spans == 0 })...)
	s.Processes = append(s.Processes, slices.DeleteFunc(processes, func(p SummaryProcess) bool { return p.Spans == 0 })...)
	slices.SortFunc(s.Services, func(a, b SummaryService) int { return cmp.Compare(a.Service, b.Service) })
	slices.SortFunc(s.Processes, func(a, b SummaryProcess) int {
		return cmp.Or(cmp.Compare(a.Process, b.Process), cmp.Compare(a.Service, b.Service), cmp.Compare(a.NamedBy, b.NamedBy))
	})
	s.Missing.Clock = int64(len(c.clock(f)))
	s.Rate = c.rate(f, starts)
}

// rateSteps is how many steps a rate has at most.
const rateSteps = 240

// rate counts the starts of spans in steps that a person reads well.
func (c *columns) rate(f serviceFilter, starts window) Rate {
	if !starts.any {
		return Rate{Spans: []int64{}, Errors: []int64{}}
	}
	step := niceStep((starts.last - starts.first) / (rateSteps - 1))
	first := starts.first - starts.first%step
	n := (starts.last-first)/step + 1
	r := Rate{Start: Time(first), StepNS: step, Spans: make([]int64, n), Errors: make([]int64, n)}
	for row := range int32(len(c.trace)) {
		if f.passes(c.serviceOfRow(row)) {
			at := (c.start[row] - first) / step
			r.Spans[at]++
			r.Errors[at] += int64(c.flags[row] & flagError)
		}
	}
	return r
}

// niceStep returns the shortest round duration that is longer than atLeast, in ns.
func niceStep(atLeast int64) int64 {
	for _, unit := range []struct {
		length time.Duration
		counts []int64
	}{
		{time.Millisecond, []int64{1, 2, 5, 10, 20, 50, 100, 200, 500}},
		{time.Second, []int64{1, 2, 5, 10, 15, 30}},
		{time.Minute, []int64{1, 2, 5, 10, 15, 30}},
		{time.Hour, []int64{1, 2, 3, 6, 12}},
		{24 * time.Hour, []int64{1, 2, 7, 14, 28, 91, 182, 364, 5 * 364, 10 * 364, 50 * 364}},
	} {
		for _, count := range unit.counts {
			if step := count * int64(unit.length); step > atLeast {
				return step
			}
		}
	}
	return 100 * 364 * 24 * int64(time.Hour)
}
