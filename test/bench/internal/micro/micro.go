package micro

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/runspan/runspan/test/bench/internal/procstat"
	"github.com/runspan/runspan/test/bench/internal/results"
	"github.com/runspan/runspan/test/bench/internal/spans"
	"github.com/runspan/runspan/test/bench/internal/stats"
)

// batch is how many requests are decoded before the clock of a slice starts. The slices are short,
// half a millisecond to five, so that most of them fall between what else the cores do.
const batch = 5

// shapes are the ways in which runs are named that the chains are measured with.
func shapes() []spans.Shape {
	one := spans.XTuner
	onSpans := one
	onSpans.Naming = spans.OnSpans
	mixed := one
	mixed.Naming, mixed.Runs = spans.Mixed, 10
	return []spans.Shape{one, onSpans, mixed}
}

// Processors compares run_id with the processors of the stock equivalent. The time is that of the
// thread which calls them: decoding, and other work of the machine, are not in it, and neither is
// garbage collection; the allocations that make it are counted instead.
// In each round the two take turns for the given number of slices. Rounds should last some seconds:
// the ratio itself depends on what the rest of the machine does, which changes that slowly, and
// which the spread over the rounds has to show.
func Processors(
	ctx context.Context, taken results.Taken, configs string, rounds, slices int,
) (out *results.Processors, err error) {
	var pairs []*pair
	for _, shape := range shapes() {
		p, err := newPair(ctx, configs, shape)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, p.stop(ctx)) }()
		pairs = append(pairs, p)
	}
	// The garbage collector would make whichever chain allocates when it is due help it.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for round := -1; round < rounds; round++ { // round -1 warms up
		for _, p := range pairs {
			if err := p.round(ctx, slices, round < 0); err != nil {
				return nil, fmt.Errorf("processors, run named on %s: %w", p.shape.Naming, err)
			}
		}
	}
	out = &results.Processors{Taken: taken, Rounds: rounds, Spans: slices * batch * spans.XTuner.Spans}
	for _, factory := range stock {
		out.Pair = append(out.Pair, factory.Type().String())
	}
	for _, p := range pairs {
		out.Cases = append(out.Cases, results.Case{Shape: p.shape, RunID: p.runID.cost(), Stock: p.stock.cost()})
		suffix := fmt.Sprintf(" run_id/transform+groupbyattrs, run named on %s", p.shape.Naming)
		out.Ratios = append(out.Ratios,
			results.Ratio{
				Name: "processor cpu" + suffix, Summary: stats.Summarize(stats.Ratios(p.runID.cpu, p.stock.cpu)),
			},
			results.Ratio{
				Name: "processor bytes" + suffix, Summary: stats.Summarize(stats.Ratios(p.runID.allocated, p.stock.allocated)),
			})
	}
	return out, nil
}

// pair is the two chains that are compared, for one way of naming runs.
type pair struct {
	shape        spans.Shape
	runID, stock *subject
}

func newPair(ctx context.Context, configs string, shape spans.Shape) (*pair, error) {
	template, err := spans.New(shape)
	if err != nil {
		return nil, err
	}
	runID, err := newRunID(ctx, configs)
	if err != nil {
		return nil, err
	}
	stock, err := newStock(ctx, configs)
	if err != nil {
		return nil, errors.Join(err, runID.stop(ctx))
	}
	return &pair{
		shape: shape,
		runID: &subject{chain: runID, template: template},
		stock: &subject{chain: stock, template: template},
	}, nil
}

func (p *pair) stop(ctx context.Context) error {
	return errors.Join(p.runID.chain.stop(ctx), p.stock.chain.stop(ctx))
}

func (p *pair) round(ctx context.Context, slices int, warmUp bool) error {
	first, second := p.runID, p.stock
	for range slices {
		if err := errors.Join(first.slice(ctx), second.slice(ctx)); err != nil {
			return err
		}
		first, second = second, first
	}
	p.runID.endRound(warmUp)
	p.stock.endRound(warmUp)
	return nil
}

// subject is a chain and what it has cost.
type subject struct {
	chain    *chain
	template *spans.Template
	seq      uint64

	slices         []float64 // of this round: nanoseconds a span
	bytes, spans   int       // of this round
	cpu, allocated []float64 // nanoseconds and bytes a span, one value a round
}

// slice decodes a batch of requests and measures the chain on them.
func (s *subject) slice(ctx context.Context) error {
	runtime.GC()
	var requests [batch]ptrace.Traces
	n := 0
	for i := range requests {
		s.seq++
		request := ptraceotlp.NewExportRequest()
		if err := request.UnmarshalProto(s.template.Stamp(s.seq)); err != nil {
			return fmt.Errorf("decode a request: %w", err)
		}
		requests[i] = request.Traces()
		n += requests[i].SpanCount()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start, err := procstat.ThreadCPU()
	if err != nil {
		return err
	}
	for i := range requests {
		if err := s.chain.ConsumeTraces(ctx, requests[i]); err != nil {
			return fmt.Errorf("process a request: %w", err)
		}
	}
	end, err := procstat.ThreadCPU()
	if err != nil {
		return err
	}
	runtime.ReadMemStats(&after)
	s.slices = append(s.slices, float64((end-start).Nanoseconds())/float64(n))
	s.bytes += int(after.TotalAlloc - before.TotalAlloc)
	s.spans += n
	return nil
}

// endRound takes the median of the slices: the slices in which something else ran on the same core
// cost up to twice as much, and fall on either chain by chance.
func (s *subject) endRound(warmUp bool) {
	if !warmUp {
		s.cpu = append(s.cpu, stats.Median(s.slices))
		s.allocated = append(s.allocated, float64(s.bytes)/float64(s.spans))
	}
	s.slices, s.bytes, s.spans = nil, 0, 0
}

func (s *subject) cost() results.Cost {
	return results.Cost{CPU: stats.Summarize(s.cpu), Bytes: stats.Summarize(s.allocated)}
}
