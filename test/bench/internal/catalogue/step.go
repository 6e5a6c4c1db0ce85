package catalogue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/runspan/runspan/internal/runindex"
	"github.com/runspan/runspan/test/bench/internal/procstat"
)

// Step is what one process does, so that its peak memory is that of the step alone. It is given as JSON in
// the environment variable StepVariable, and tells its Outcome as JSON on standard output.
type Step struct {
	File string `json:"file"`
	// CacheDir of the catalogue; "" for none.
	CacheDir string `json:"cache_dir"`
	// Appends is how often lines of 1,000 spans are appended behind the file, and taken away in the end.
	Appends int `json:"appends"`
	// Ask has the viewer's API answer on a run and a trace.
	Ask  bool `json:"ask"`
	Size Size `json:"size"`
}

// StepVariable is in the environment of a process that does a step.
const StepVariable = "RUNSPAN_BENCH_CATALOGUE_STEP"

// Outcome is what a step has found.
type Outcome struct {
	Seconds   float64   `json:"seconds"`     // until all of the file was known
	CPU       float64   `json:"cpu_seconds"` // of the process, until then
	Bytes     int64     `json:"bytes"`
	Runs      int       `json:"runs"`
	Spans     int64     `json:"spans"`
	Traces    int64     `json:"traces"`
	PeakBytes uint64    `json:"peak_bytes"`
	Appended  []float64 `json:"appended,omitempty"` // seconds from each append until it was known
	Answers   *Answers  `json:"answers,omitempty"`
}

// appendSpans are what is appended at once.
const appendSpans = 1000

// Do does the step.
func (s Step) Do(ctx context.Context) (Outcome, error) {
	started := time.Now()
	c, err := runindex.Open(runindex.Options{
		Files: []string{s.File}, CacheDir: s.CacheDir,
		Warn: func(text string) { fmt.Fprintln(os.Stderr, text) },
	})
	if err != nil {
		return Outcome{}, err
	}
	running, stop := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		c.Run(running)
		close(over)
	}()
	defer func() {
		stop()
		<-over
		_ = c.Close()
	}()
	snapshot, err := wait(ctx, c, 10*time.Millisecond, func(s *runindex.Snapshot) bool { return s.State == runindex.StateReady })
	if err != nil {
		return Outcome{}, err
	}
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return Outcome{}, err
	}
	cpu := time.Duration(used.Utime.Nano() + used.Stime.Nano())
	out := Outcome{Seconds: time.Since(started).Seconds(), CPU: cpu.Seconds(), Bytes: snapshot.Read, Runs: len(snapshot.Runs)}
	out.Spans, out.Traces = counts(snapshot)
	if s.Ask {
		if out.Answers, err = ask(ctx, c); err != nil {
			return out, err
		}
	}
	if err := s.append(ctx, c, &out); err != nil {
		return out, err
	}
	// The rest of the process's life, the last write of the cache among it, counts too.
	stop()
	<-over
	out.PeakBytes, err = procstat.PeakMemory(os.Getpid())
	return out, err
}

func counts(s *runindex.Snapshot) (spans, traces int64) {
	for _, r := range s.Runs {
		spans += r.Spans
		traces += r.Traces
	}
	return spans, traces
}

// wait asks every so often, as a page does.
func wait(ctx context.Context, c *runindex.Catalogue, pause time.Duration, enough func(*runindex.Snapshot) bool) (*runindex.Snapshot, error) {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		if s := c.Snapshot(); enough(s) {
			return s, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-ticker.C:
		}
	}
}

func (s Step) append(ctx context.Context, c *runindex.Catalogue, out *Outcome) error {
	if s.Appends == 0 {
		return nil
	}
	file, err := os.OpenFile(s.File, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	spans := out.Spans
	for i := range s.Appends {
		time.Sleep(time.Duration(i*13%100) * time.Millisecond) // at any moment between two looks
		var lines []byte
		requests := appendSpans / s.Size.shape().Spans
		if err = s.Size.lines(s.Size.requests()+i*requests, requests, func(line []byte) error {
			lines = append(lines, line...)
			return nil
		}); err != nil {
			break
		}
		began := time.Now()
		if _, err = file.Write(lines); err != nil {
			break
		}
		spans += appendSpans
		if _, err = wait(ctx, c, time.Millisecond, func(s *runindex.Snapshot) bool {
			known, _ := counts(s)
			return known == spans
		}); err != nil {
			break
		}
		out.Appended = append(out.Appended, time.Since(began).Seconds())
	}
	return errors.Join(err, file.Truncate(info.Size()), file.Close())
}

// RunStep does the step in the environment, if there is one.
func RunStep(ctx context.Context) (there bool, err error) {
	text := os.Getenv(StepVariable)
	if text == "" {
		return false, nil
	}
	var s Step
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return true, err
	}
	out, err := s.Do(ctx)
	if err != nil {
		return true, err
	}
	return true, json.NewEncoder(os.Stdout).Encode(out)
}
