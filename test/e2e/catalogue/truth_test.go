package catalogue

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/internal/runid"
	"github.com/runspan/runspan/test/e2e/harness"
	"github.com/runspan/runspan/test/simulation"
)

// filed is what the files hold, read strictly and without an index, of runs that were sent.
type filed struct {
	runs   map[string]*listedRun // counts of lines as they stand; by run
	noRun  map[string]int        // spans by process
	copies map[string]filedSpan  // by key
}

type filedSpan struct{ named, unnamed int }

// readFiles reads all trace files below a folder. Every span in them must be one of sent.
func readFiles(t *testing.T, dir string, sent []*simulation.Run) *filed {
	t.Helper()
	type origin struct {
		run  string
		span simulation.Span
	}
	known := map[string]origin{}
	for _, run := range sent {
		for _, sp := range run.Spans() {
			known[keyOf(sp)] = origin{run.ID, sp}
		}
	}
	f := &filed{runs: map[string]*listedRun{}, noRun: map[string]int{}, copies: map[string]filedSpan{}}
	traces, services, processes := map[string]map[string]bool{}, map[string]map[string]bool{}, map[string]map[string]bool{}
	for _, got := range readWholeLines(t, dir) {
		from, ok := known[got.Key()]
		require.True(t, ok, "%+v was not sent", got)
		copies := f.copies[got.Key()]
		if got.Run == "" || got.Run == runid.Unassigned {
			require.False(t, from.span.Process.KnowsRun, "%+v", got)
			f.noRun[from.span.Process.Name()]++
			copies.unnamed++
			f.copies[got.Key()] = copies
			continue
		}
		require.Equal(t, from.run, got.Run)
		copies.named++
		f.copies[got.Key()] = copies
		run := f.runs[got.Run]
		if run == nil {
			run = &listedRun{RunID: got.Run}
			f.runs[got.Run] = run
			traces[got.Run], services[got.Run], processes[got.Run] = map[string]bool{}, map[string]bool{}, map[string]bool{}
		}
		run.Spans++
		if from.span.Error {
			run.Errors++
		}
		if run.First.IsZero() || from.span.Start.Before(run.First) {
			run.First = from.span.Start
		}
		if from.span.End.After(run.Last) {
			run.Last = from.span.End
		}
		traces[got.Run][got.TraceID], services[got.Run][got.Service] = true, true
		processes[got.Run][from.span.Process.Name()] = true
	}
	for id, run := range f.runs {
		run.Traces, run.Processes = len(traces[id]), len(processes[id])
		run.Services = slices.Sorted(maps.Keys(services[id]))
	}
	return f
}

// readWholeLines returns the spans in all trace files below a folder. Bytes behind the last newline of a
// file are no data: a collector that was killed leaves them until the next line comes.
func readWholeLines(t *testing.T, dir string) []harness.Span {
	t.Helper()
	var spans []harness.Span
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".jsonl") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		whole := filepath.Join(t.TempDir(), "whole.jsonl")
		if err := os.WriteFile(whole, data[:bytes.LastIndexByte(data, '\n')+1], 0o600); err != nil {
			return err
		}
		spans = append(spans, harness.ReadUntaggedTraceFile(t, whole)...)
		return nil
	})
	require.NoError(t, err)
	return spans
}

// checkCatalogue compares what a viewer tells of all runs with what the files hold.
func (f *filed) checkCatalogue(a *api) error {
	told, err := a.runs()
	if err != nil {
		return err
	}
	got := map[string]*listedRun{}
	for id, run := range told {
		if run.Bytes <= 0 {
			return fmt.Errorf("run %s has %d bytes", id, run.Bytes)
		}
		run.Bytes, run.Live = 0, false
		run.First, run.Last = run.First.UTC(), run.Last.UTC()
		got[id] = &run
	}
	var files missingOfFiles
	if err := a.get(&files, "/api/missing", "limit", everything); err != nil {
		return err
	}
	noRun := map[string]int{}
	for _, sender := range files.NoRun {
		if sender.Service != simulation.ServiceEngine {
			return fmt.Errorf("%+v sends spans of no run", sender)
		}
		noRun[sender.Process] += sender.Spans
	}
	unread := 0
	for _, file := range files.Files {
		if file.Problem != "" {
			unread++
		}
	}
	return errors.Join(files.ready(), differs("runs", f.runs, got), differs("no_run", f.noRun, noRun),
		differs("bad lines", 0, files.BadLines.Count), differs("files with a problem", 0, unread))
}

// checkRun compares what a viewer tells of one run with what the run sent, each span counted once.
func (f *filed) checkRun(a *api, run *simulation.Run) error {
	truth := run.Truth()
	return errors.Join(checkSummary(a, truth), checkStages(a, truth), checkTraces(a, run, truth), f.checkMissing(a, run, truth),
		f.checkTrees(a, run))
}

func checkSummary(a *api, truth simulation.Truth) error {
	var got openedRun
	if err := a.get(&got, "/api/run", "run", truth.Run); err != nil {
		return err
	}
	type process struct {
		Name, NamedBy, Service string
		simulation.Count
		First, Last int64
	}
	services, processes, wantProcesses := map[string]simulation.Count{}, map[string]process{}, map[string]process{}
	for _, s := range got.Services {
		services[s.Service] = simulation.Count{Spans: s.Spans, Errors: s.Errors}
	}
	for _, p := range got.Processes {
		processes[p.Process] = process{
			p.Process, p.NamedBy, p.Service, simulation.Count{Spans: p.Spans, Errors: p.Errors}, p.First.UnixNano(), p.Last.UnixNano(),
		}
	}
	for name, p := range truth.Processes {
		wantProcesses[name] = process{name, p.Process.NamedBy, p.Process.Service, p.Count, p.First.UnixNano(), p.Last.UnixNano()}
	}
	rate, rateErrors := 0, 0
	for i := range got.Rate.Spans {
		rate += got.Rate.Spans[i]
		rateErrors += got.Rate.Errors[i]
	}
	return errors.Join(got.ready(),
		differs("partial", nil, got.Partial),
		differs("spans", truth.Spans, got.Spans), differs("traces", truth.Traces, got.Traces), differs("errors", truth.Errors, got.Errors),
		differs("first", truth.First.UnixNano(), got.First.UnixNano()), differs("last", truth.Last.UnixNano(), got.Last.UnixNano()),
		differs("services", truth.Services, services), differs("processes", wantProcesses, processes),
		differs("sum of the rate", truth.Spans, rate), differs("errors in the rate", truth.Errors, rateErrors))
}

func checkStages(a *api, truth simulation.Truth) error {
	var answer struct {
		state
		Stages  []stage
		Matched int
	}
	if err := a.get(&answer, "/api/stages", "run", truth.Run, "limit", everything, "sort", "name"); err != nil {
		return err
	}
	got, want := map[string]stage{}, map[string]stage{}
	for _, s := range answer.Stages {
		got[s.Service+" "+s.Name] = s
	}
	for _, s := range truth.Stages {
		want[s.Service+" "+s.Name] = stage{
			s.Name, s.Service, s.Spans, s.Errors, s.Percentile(50), s.Percentile(95), s.Percentile(99), s.Percentile(100), s.Sum(),
		}
	}
	return errors.Join(answer.ready(), differs("stages", want, got), differs("matched stages", len(want), answer.Matched))
}

func checkTraces(a *api, run *simulation.Run, truth simulation.Truth) error {
	got, err := a.traces(truth.Run)
	if err != nil {
		return err
	}
	want := map[string]listedTrace{}
	for _, sp := range run.Spans() {
		if sp.Run == "" {
			continue
		}
		id := sp.TraceID.String()
		trace := want[id]
		trace.TraceID = id
		trace.Spans++
		if sp.Error {
			trace.Errors++
		}
		trace.HasRoot = trace.HasRoot || sp.ParentID.IsEmpty()
		want[id] = trace
	}
	for _, sp := range truth.Orphans {
		trace := want[sp.TraceID.String()]
		trace.Orphans++
		want[trace.TraceID] = trace
	}
	return differs("traces", want, got)
}

func (f *filed) checkMissing(a *api, run *simulation.Run, truth simulation.Truth) error {
	var got missing
	if err := a.get(&got, "/api/missing", "run", truth.Run, "limit", everything); err != nil {
		return err
	}
	orphans, wantOrphans := map[string]string{}, map[string]string{}
	for _, sp := range got.Orphans.Spans {
		orphans[sp.SpanID] = sp.ParentID + " " + sp.Service + " " + sp.Name
	}
	for _, sp := range truth.Orphans {
		wantOrphans[sp.SpanID.String()] = sp.ParentID.String() + " " + sp.Process.Service + " " + sp.Name
	}
	rootless, wantRootless := map[string]bool{}, map[string]bool{}
	for _, trace := range got.Rootless.Traces {
		rootless[trace.TraceID] = true
	}
	for _, id := range truth.Rootless {
		wantRootless[id.String()] = true
	}
	// A resent request can be there more often than the run knows: what the files hold is the truth.
	twice, wantTwice := map[string]int{}, map[string]int{}
	for _, sp := range got.Duplicates.Spans {
		twice[sp.TraceID+"/"+sp.SpanID] = sp.Copies
	}
	joinedAtLeast, joinedAtMost := 0, 0
	for _, sp := range run.Spans() {
		if sp.Run == "" {
			continue
		}
		copies := f.copies[keyOf(sp)]
		if n := copies.named + copies.unnamed; n > 1 {
			wantTwice[keyOf(sp)] = n
		}
		if copies.unnamed > 0 {
			joinedAtMost++
			if copies.named == 0 {
				joinedAtLeast++
			}
		}
	}
	clock, wantClock := map[simulation.ClockPair]simulation.ClockTruth{}, map[simulation.ClockPair]simulation.ClockTruth{}
	for _, c := range got.Clock {
		clock[simulation.ClockPair{Process: c.Process, Against: c.Against}] = simulation.ClockTruth{
			Pairs: c.Pairs, Outside: c.Outside, Before: c.Before, After: c.After,
		}
	}
	for pair, c := range truth.Clock {
		if c.Outside > 0 {
			wantClock[pair] = c
		}
	}
	var joined error
	if got.Joined.Count < joinedAtLeast || got.Joined.Count > joinedAtMost {
		joined = fmt.Errorf("joined: %d, should be %d to %d", got.Joined.Count, joinedAtLeast, joinedAtMost)
	}
	return errors.Join(got.ready(), joined,
		differs("orphans", wantOrphans, orphans), differs("count of orphans", len(wantOrphans), got.Orphans.Count),
		differs("rootless traces", wantRootless, rootless), differs("count of rootless traces", len(wantRootless), got.Rootless.Count),
		differs("duplicates", wantTwice, twice), differs("count of duplicates", len(wantTwice), got.Duplicates.Count),
		differs("clock", wantClock, clock))
}

// differs returns an error with the difference where got is not what is wanted.
func differs(what string, want, got any) error {
	var r recorder
	assert.Equal(&r, want, got, what)
	return r.err
}

// recorder is an assert.TestingT for conditions that are tried again.
type recorder struct{ err error }

func (r *recorder) Errorf(format string, args ...any) {
	r.err = errors.Join(r.err, fmt.Errorf(format, args...))
}
