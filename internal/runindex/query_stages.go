package runindex

import (
	"math"
	"slices"
	"sync"
)

// Stage is all spans of one name of one service. Durations are in ns.
type Stage struct {
	Name    string `json:"name"`
	Service string `json:"service"`
	Count   int64  `json:"count"`
	Errors  int64  `json:"errors"`
	P50     int64  `json:"p50_ns"`
	P95     int64  `json:"p95_ns"`
	P99     int64  `json:"p99_ns"`
	Max     int64  `json:"max_ns"`
	Sum     int64  `json:"sum_ns"`
}

// StageSorts are the columns by which stages sort.
var StageSorts = []string{"sum", "count", "p50", "p95", "p99", "max", "errors", "name"}

// stageCache keeps the stages of a run that did not change: percentiles need a sort of all durations.
type stageCache struct {
	mu      sync.Mutex
	filled  bool
	changes uint64 // of the run when all was made
	all     []Stage
}

// Stages returns the stages of a service, "" for all, and how many there are on all pages.
func (o *OpenedRun) Stages(service string, page Page) (stages []Stage, matched int, next string, err error) {
	stages = []Stage{}
	for _, s := range o.allStages() {
		if service == "" || s.Service == service {
			stages = append(stages, s)
		}
	}
	matched = len(stages)
	name, desc := page.column()
	by := order[Stage]{
		text: func(s Stage) []byte { return append(append([]byte(s.Name), 0), s.Service...) },
		number: map[string]func(Stage) int64{
			"sum":    func(s Stage) int64 { return s.Sum },
			"count":  func(s Stage) int64 { return s.Count },
			"p50":    func(s Stage) int64 { return s.P50 },
			"p95":    func(s Stage) int64 { return s.P95 },
			"p99":    func(s Stage) int64 { return s.P99 },
			"max":    func(s Stage) int64 { return s.Max },
			"errors": func(s Stage) int64 { return s.Errors },
		}[name],
		desc: desc,
	}
	stages, next, err = by.page(stages, page)
	return stages, matched, next, err
}

func (o *OpenedRun) allStages() []Stage {
	cache := &o.stages
	cache.mu.Lock()
	defer cache.mu.Unlock()
	var stages []Stage
	var durations [][]int64
	o.mu.Lock()
	if cache.filled && cache.changes == o.changes {
		o.mu.Unlock()
		return cache.all
	}
	cache.changes = o.changes
	stages, durations = o.durations()
	o.mu.Unlock()
	for i := range stages {
		stages[i].measure(durations[i])
	}
	cache.all, cache.filled = stages, true
	return stages
}

// durations returns the stages with what can be counted, and the durations of their spans.
func (c *columns) durations() (stages []Stage, durations [][]int64) {
	type key struct {
		name    string
		service uint32
	}
	of := make([]int, len(c.stageTable)) // kinds are no stages of their own
	seen := map[key]int{}
	for i, s := range c.stageTable {
		k := key{s.name, s.service}
		at, ok := seen[k]
		if !ok {
			at = len(stages)
			seen[k] = at
			stages = append(stages, Stage{Name: s.name, Service: c.services[s.service]})
		}
		of[i] = at
	}
	for row, stage := range c.stage {
		s := &stages[of[stage]]
		s.Count++
		s.Errors += int64(c.flags[row] & flagError)
	}
	durations = make([][]int64, len(stages))
	for i := range stages {
		durations[i] = make([]int64, 0, stages[i].Count)
	}
	for row, stage := range c.stage {
		at := of[stage]
		durations[at] = append(durations[at], c.took[row])
	}
	return stages, durations
}

// measure fills in what follows from the durations of all spans, one at least.
func (s *Stage) measure(took []int64) {
	slices.Sort(took)
	for _, d := range took {
		if s.Sum += d; s.Sum < 0 {
			s.Sum = math.MaxInt64 // times of centuries: of a broken clock
			break
		}
	}
	s.P50, s.P95, s.P99 = nearestRank(took, 50), nearestRank(took, 95), nearestRank(took, 99)
	s.Max = took[len(took)-1]
}

// nearestRank returns the smallest value that at least so many percent of the values do not exceed.
func nearestRank(sorted []int64, percent int) int64 {
	return sorted[(len(sorted)*percent+99)/100-1]
}
