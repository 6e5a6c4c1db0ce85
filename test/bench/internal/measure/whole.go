package measure

import (
	"context"

	"github.com/runspan/runspan/test/bench/internal/contender"
	"github.com/runspan/runspan/test/bench/internal/results"
	"github.com/runspan/runspan/test/bench/internal/spans"
	"github.com/runspan/runspan/test/bench/internal/stats"
)

// Whole compares whole collectors under one workload.
func (r *Runner) Whole(
	ctx context.Context, taken results.Taken, w results.Workload, contenders []contender.Contender,
) (*results.Whole, error) {
	var err error
	if w.RequestBytes, err = requestBytes(w.Shape); err != nil {
		return nil, err
	}
	measured, err := r.rounds(ctx, w, contenders)
	if err != nil {
		return nil, err
	}
	whole := &results.Whole{Taken: taken, Workload: w}
	for i, c := range contenders {
		s := measured[i]
		line := results.Contender{
			Name: c.Name, What: c.What, CPU: stats.Summarize(s.cpu), Memory: stats.Summarize(s.memory),
			Throughput: stats.Summarize(s.throughput),
		}
		if s.requests > 0 {
			line.Latency = &results.Latency{
				Requests: s.requests,
				P50:      stats.Summarize(s.p50), P90: stats.Summarize(s.p90),
				P99: stats.Summarize(s.p99), Max: stats.Summarize(s.max),
			}
		}
		whole.Contenders = append(whole.Contenders, line)
	}
	whole.Ratios = ratios(contenders, measured)
	return whole, nil
}

// Delivery compares what clients wait for with and without a backend that reads from the file, at half of
// the rate that this machine can keep up with a backend and the clients on its cores too.
func (r *Runner) Delivery(ctx context.Context, taken results.Taken, w results.Workload) (*results.Whole, error) {
	top := w
	top.Rounds, top.Rate = 2, 0
	measured, err := r.rounds(ctx, top, contender.Delivery[1:2])
	if err != nil {
		return nil, err
	}
	w.Rate = stats.Summarize(measured[0].sustained).Median / 2
	w.Rounds, w.Spans, w.RateSeconds = deliveryRounds, w.Spans/4, deliverySeconds
	return r.Whole(ctx, taken, w, contender.Delivery)
}

// Each round of Delivery has some 2,000 requests a contender, twenty of them behind the 99th percentile.
const (
	deliveryRounds  = 5
	deliverySeconds = 6
)

// Sync compares the durabilities with many clients.
func (r *Runner) Sync(ctx context.Context, taken results.Taken, w results.Workload) (*results.Whole, error) {
	w.Clients, w.Rate, w.RateSeconds = syncClients, 0, 0
	return r.Whole(ctx, taken, w, contender.Sync)
}

// syncClients is how many clients share an fsync.
const syncClients = 16

// ratios compares each contender with nop, with the stock equivalent, and with the one that it is said
// to be compared with, as far as they took part.
// "added" is what a contender costs on top of nop, beside what the stock equivalent costs on top of it.
func ratios(contenders []contender.Contender, measured []samples) []results.Ratio {
	byName := map[string]samples{}
	for i, c := range contenders {
		byName[c.Name] = measured[i]
	}
	nop, haveNop := byName[contender.Nop]
	stock, haveStock := byName[contender.Stock]
	var out []results.Ratio
	add := func(name string, a, b []float64) {
		out = append(out, results.Ratio{Name: name, Summary: stats.Summarize(stats.Ratios(a, b))})
	}
	for _, c := range contenders {
		s := byName[c.Name]
		if haveNop && c.Name != contender.Nop {
			add("cpu "+c.Name+"/"+contender.Nop, s.cpu, nop.cpu)
			add("memory "+c.Name+"/"+contender.Nop, s.memory, nop.memory)
		}
		if haveStock && c.Name != contender.Stock {
			add("cpu "+c.Name+"/"+contender.Stock, s.cpu, stock.cpu)
			add("memory "+c.Name+"/"+contender.Stock, s.memory, stock.memory)
		}
		for _, against := range c.Against {
			other, have := byName[against]
			if !have {
				continue
			}
			add("cpu "+c.Name+"/"+against, s.cpu, other.cpu)
			add("memory "+c.Name+"/"+against, s.memory, other.memory)
			add("throughput "+c.Name+"/"+against, s.throughput, other.throughput)
			if s.requests > 0 && other.requests > 0 {
				add("p99 "+c.Name+"/"+against, s.p99, other.p99)
			}
		}
		if haveNop && haveStock && c.Name != contender.Nop && c.Name != contender.Stock {
			add("added cpu "+c.Name+"/"+contender.Stock, stats.Minus(s.cpu, nop.cpu), stats.Minus(stock.cpu, nop.cpu))
		}
	}
	return out
}

func requestBytes(shape spans.Shape) (int, error) {
	template, err := spans.New(shape)
	if err != nil {
		return 0, err
	}
	return template.Size(), nil
}
