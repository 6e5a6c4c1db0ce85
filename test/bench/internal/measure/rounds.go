// Package measure runs contenders side by side and reads what they cost.
package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/runspan/runspan/test/bench/internal/contender"
	"github.com/runspan/runspan/test/bench/internal/load"
	"github.com/runspan/runspan/test/bench/internal/process"
	"github.com/runspan/runspan/test/bench/internal/procstat"
	"github.com/runspan/runspan/test/bench/internal/results"
	"github.com/runspan/runspan/test/bench/internal/stats"
)

// Runner measures on this machine.
type Runner struct {
	Files process.Files
	Dir   string       // collectors write below it, in folders that are removed after each round
	Log   func(string) // progress, a line at a time
}

// samples are the figures of one contender, one value a round.
type samples struct {
	cpu, memory        []float64 // microseconds a span, MiB
	throughput         []float64 // spans a second, until they were acknowledged
	sustained          []float64 // spans a second, until they had arrived
	p50, p90, p99, max []float64 // milliseconds
	requests           int
}

// running is a contender in a round.
type running struct {
	*process.Collector
	clients *load.Clients
	sent    int           // spans
	cpu     time.Duration // of the measured slices
	waited  time.Duration // by the clients, in the measured slices
	through time.Duration // until all had arrived at the end, too
}

// rounds measures the contenders round by round. In each round every contender gets processes of its
// own, so that what differs between two starts of one program is part of the spread. All of them are
// up at once, and take turns in short slices, forwards and backwards (A B B A): what disturbs the
// machine for longer than a slice disturbs all of them alike.
func (r *Runner) rounds(ctx context.Context, w results.Workload, contenders []contender.Contender) ([]samples, error) {
	out := make([]samples, len(contenders))
	for round := range w.Rounds {
		started := time.Now()
		if err := r.round(ctx, w, round, contenders, out); err != nil {
			return nil, fmt.Errorf("round %d: %w", round+1, err)
		}
		r.Log(fmt.Sprintf("round %d of %d: %.0f s", round+1, w.Rounds, time.Since(started).Seconds()))
	}
	return out, nil
}

func (r *Runner) round(
	ctx context.Context, w results.Workload, round int, contenders []contender.Contender, out []samples,
) (err error) {
	if err := r.checkDisk(w, contenders); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(r.Dir, "runspan-bench-")
	if err != nil {
		return fmt.Errorf("make a folder for the collectors: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	all := make([]*running, 0, len(contenders))
	defer func() {
		for _, c := range all {
			err = errors.Join(err, c.clients.Close(), c.Stop())
		}
	}()
	for _, c := range contenders {
		started, err := r.start(ctx, w, c, filepath.Join(dir, c.Name))
		if err != nil {
			return err
		}
		all = append(all, started)
	}
	for i, c := range all {
		if err := c.flood(ctx, w, warmUp(w, contenders[i])); err != nil {
			return fmt.Errorf("warm up %s: %w", contenders[i].Name, err)
		}
		c.cpu, c.waited, c.through = 0, 0, 0
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	for range w.Slices {
		for _, i := range order {
			if err := all[i].flood(ctx, w, w.Spans/w.Slices); err != nil {
				return fmt.Errorf("measure %s: %w", contenders[i].Name, err)
			}
		}
		slices.Reverse(order)
	}
	// What has to be written to the disk for one must not meet the next, and who comes last must not
	// always be the same.
	if round%2 == 1 {
		slices.Reverse(order)
	}
	for _, i := range order {
		c := all[i]
		if w.Rate > 0 {
			procstat.FlushDisk()
		}
		if err := c.record(ctx, w, &out[i]); err != nil {
			return fmt.Errorf("measure %s: %w", contenders[i].Name, err)
		}
	}
	return nil
}

// warmUp is how many spans a contender gets before it is measured: at least a request of each run, so
// that what a run costs once, its file, is not taken for a cost of spans.
func warmUp(w results.Workload, c contender.Contender) int {
	return max(w.WarmUp, c.Runs*w.Shape.Spans)
}

func (r *Runner) start(ctx context.Context, w results.Workload, c contender.Contender, data string) (*running, error) {
	if err := os.Mkdir(data, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for %s: %w", c.Name, err)
	}
	collector, err := process.Start(ctx, r.Files, c, data)
	if err != nil {
		return nil, err
	}
	shape := w.Shape
	if c.Runs > 0 {
		shape.Runs = c.Runs
	}
	clients, err := load.Connect(collector.Endpoint, cmp.Or(c.Clients, w.Clients), shape)
	if err != nil {
		return nil, errors.Join(err, collector.Stop())
	}
	return &running{Collector: collector, clients: clients}, nil
}

// flood sends spans as fast as they are taken and adds what they cost until all have arrived.
func (c *running) flood(ctx context.Context, w results.Workload, spans int) error {
	requests := max(spans/w.Shape.Spans, 1)
	before, err := c.CPU()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := c.clients.Flood(ctx, requests); err != nil {
		return err
	}
	c.waited += time.Since(began)
	if err := c.arrived(ctx, requests*w.Shape.Spans); err != nil {
		return err
	}
	c.through += time.Since(began)
	after, err := c.CPU()
	c.cpu += after - before
	return err
}

func (c *running) arrived(ctx context.Context, spans int) error {
	c.sent += spans
	return c.WaitForArrival(ctx, c.sent)
}

// record adds the figures of a round, and measures the latencies.
func (c *running) record(ctx context.Context, w results.Workload, out *samples) error {
	perSlice := max(w.Spans/w.Slices/w.Shape.Spans, 1) * w.Shape.Spans
	out.cpu = append(out.cpu, float64(c.cpu.Nanoseconds())/1e3/float64(perSlice*w.Slices))
	out.throughput = append(out.throughput, float64(perSlice*w.Slices)/c.waited.Seconds())
	out.sustained = append(out.sustained, float64(perSlice*w.Slices)/c.through.Seconds())
	memory, err := c.PeakMemory()
	if err != nil {
		return err
	}
	out.memory = append(out.memory, float64(memory)/(1<<20))
	if w.Rate == 0 {
		return nil
	}
	perSecond := w.Rate / float64(w.Shape.Spans)
	latencies, err := c.clients.Rate(ctx, max(int(perSecond*w.RateSeconds), 1), perSecond)
	if err != nil {
		return err
	}
	const milli = 1e3
	out.requests += len(latencies)
	out.p50 = append(out.p50, milli*stats.Percentile(latencies, 0.50))
	out.p90 = append(out.p90, milli*stats.Percentile(latencies, 0.90))
	out.p99 = append(out.p99, milli*stats.Percentile(latencies, 0.99))
	out.max = append(out.max, milli*stats.Percentile(latencies, 1))
	return c.arrived(ctx, len(latencies)*w.Shape.Spans)
}

// checkDisk refuses a workload that may fill the disk.
func (r *Runner) checkDisk(w results.Workload, contenders []contender.Contender) error {
	// A span's JSON is about twice its protobuf; a queue on disk holds some of the protobuf too.
	perSpan := 4 * float64(w.RequestBytes) / float64(w.Shape.Spans)
	var needed float64
	for _, c := range contenders {
		needed += (float64(w.Spans+warmUp(w, c)) + w.Rate*w.RateSeconds) * perSpan
	}
	free, err := procstat.FreeDisk(r.Dir)
	if err != nil {
		return err
	}
	if needed > float64(free) {
		return fmt.Errorf("a round may write %.1f GB, %q has %.1f GB free: lower -spans or name another folder with -dir",
			needed/1e9, r.Dir, float64(free)/1e9)
	}
	return nil
}
