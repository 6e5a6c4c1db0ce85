package simulation

import (
	"fmt"
	"slices"
	"time"
)

const (
	slots          = 4  // requests that an engine answers at once
	tokensASecond  = 60 // of one answer
	mostTries      = 3
	workerRestarts = 8 * time.Second // after it was killed
)

// pool hands requests to the workers that have a slot free, the rest waits.
type pool struct {
	*sim
	workers []*worker
	waiting []func(*worker)
}

type worker struct {
	process, engine *Process
	free            int
	down            bool
	active          []*generation
}

// generation is one answer that a worker has its engine make.
type generation struct {
	worker  *worker
	span    *span // of the worker
	request *span // of the engine; nil before it begins and after it ended
	over    bool
	done    func(failure string)
}

func newPool(s *sim) *pool {
	p := &pool{sim: s}
	for i, process := range s.workers {
		p.workers = append(p.workers, &worker{process: process, engine: s.engines[i], free: slots})
	}
	return p
}

// acquire calls ready when a worker has a slot for it.
func (p *pool) acquire(ready func(*worker)) {
	p.waiting = append(p.waiting, ready)
	p.serve()
}

func (p *pool) serve() {
	for len(p.waiting) > 0 {
		var best *worker
		for _, w := range p.workers {
			if !w.down && w.free > 0 && (best == nil || w.free > best.free) {
				best = w
			}
		}
		if best == nil {
			return
		}
		ready := p.waiting[0]
		p.waiting = p.waiting[1:]
		best.free--
		// Routing takes its time, and keeps the order of calls out of the caller.
		p.after(p.between(time.Millisecond, 3*time.Millisecond), func() { ready(best) })
	}
}

func (p *pool) release(g *generation) {
	g.over = true
	g.worker.active = slices.DeleteFunc(g.worker.active, func(other *generation) bool { return other == g })
	g.worker.free++
	p.serve()
}

// kill kills a worker: what it had not sent is lost. A new process takes its place after a while.
func (p *pool) kill(number int) {
	w := p.workers[number]
	w.process.killed = p.now
	w.down = true
	for _, g := range slices.Clone(w.active) {
		p.release(g)
		if g.request != nil {
			g.request.set("gen_ai.response.finish_reasons", []any{"abort"})
			g.request.fail("", "the client closed the connection")
			p.end(g.request)
		}
		p.after(p.between(100*time.Millisecond, 300*time.Millisecond), func() {
			g.done("the worker is gone: connection reset by peer")
		})
	}
	p.after(workerRestarts, func() {
		again := *w.process
		again.killed = 0
		again.PID++
		w.process = p.process(again)
		w.down = false
		p.serve()
	})
}

// generate asks the controller for an answer of so many tokens.
func (r *rollout) generate(parent *span, tokens int, done func(finish string)) {
	ctl := r.span(r.controller, parent, "rollout.controller.generate", attribute{"prompt.tokens", int64(r.around(180))})
	if r.often(45) {
		tokens = 900 + r.rng.IntN(3600) // a straggler: 15 to 75 s
	}
	r.try(ctl, 1, tokens, func(finish string) {
		ctl.set("finish_reason", finish)
		ctl.set("xtuner.status", statusOf(finish))
		r.after(r.between(time.Millisecond, 4*time.Millisecond), func() {
			r.end(ctl)
			done(finish)
		})
	})
}

func statusOf(finish string) string {
	if finish == "abort" {
		return "aborted"
	}
	return "completed"
}

// try has a worker make the answer. One that fails is tried again, and then aborted.
func (r *rollout) try(ctl *span, attempt, tokens int, done func(finish string)) {
	r.pool.acquire(func(w *worker) {
		g := &generation{worker: w}
		g.done = func(failure string) {
			switch {
			case failure == "":
				done("stop")
			case failure == "abort":
				done("abort")
			case attempt == mostTries:
				ctl.fail("RolloutError", fmt.Sprintf("%d tries failed, the last one: %s", attempt, failure))
				done("abort")
			default:
				r.try(ctl, attempt+1, tokens, done)
			}
		}
		if w.down {
			w.free++
			g.done("the worker is gone: connection refused")
			return
		}
		w.active = append(w.active, g)
		g.span = r.span(w.process, ctl, "rollout.worker.generate",
			attribute{"rollout.backend", "vllm"}, attribute{"xtuner.attempt", int64(attempt)})
		r.after(r.between(4*time.Millisecond, 15*time.Millisecond), func() { r.decode(g, tokens) })
	})
}

// decode is what the engine does.
func (r *rollout) decode(g *generation, tokens int) {
	if g.over {
		return
	}
	w := g.worker
	g.request = r.sim.begin(w.engine, g.span, "llm_request", r.engineAttributes(tokens)...)
	takes := time.Duration(tokens) * time.Second / tokensASecond
	failure, finish := "", "stop"
	switch {
	case takes > maxGeneration:
		takes, failure, finish = maxGeneration, "abort", "abort"
	case r.often(12):
		takes, failure, finish = r.between(2*time.Second, 4*time.Second), "no token from the engine within 2 s", "abort"
	}
	r.after(takes, func() {
		if g.over {
			return
		}
		g.request.set("gen_ai.response.finish_reasons", []any{finish})
		r.end(g.request)
		g.request = nil
		r.after(r.between(time.Millisecond, 5*time.Millisecond), func() {
			if g.over {
				return
			}
			g.span.set("finish_reason", finish)
			g.span.set("xtuner.status", statusOf(finish))
			if failure == "" {
				g.span.set("completion.tokens", int64(tokens))
			} else if failure != "abort" {
				g.span.set("xtuner.status", "failed")
				g.span.fail("TimeoutError", failure)
			}
			r.end(g.span)
			r.pool.release(g)
			r.after(r.between(time.Millisecond, 4*time.Millisecond), func() { g.done(failure) })
		})
	})
}

// engineAttributes are those of a request to an engine, in the GenAI conventions.
func (s *sim) engineAttributes(tokens int) []attribute {
	return []attribute{
		{"gen_ai.request.id", fmt.Sprintf("cmpl-%016x", s.rng.Uint64())},
		{"gen_ai.response.model", "Qwen3-8B"},
		{"gen_ai.request.temperature", 1.0},
		{"gen_ai.usage.completion_tokens", int64(tokens)},
		{"gen_ai.latency.time_to_first_token", float64(20+s.rng.IntN(60)) / 1000},
	}
}
