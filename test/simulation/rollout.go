package simulation

import (
	"fmt"
	"time"
)

// maxGeneration is how long an answer may take before its rollout is aborted and left to the next step.
const maxGeneration = 40 * time.Second

// rollout is one try of a prompt.
type rollout struct {
	*step
	id, group int
	attempt   int
	task      *task
	prompt    string
	root      *span
	turns     int
}

// attributes are what every span of the rollout has in XTuner's processes.
func (r *rollout) attributes() []attribute {
	return []attribute{
		{"xtuner.producer_future_step", int64(r.number)},
		{"xtuner.task_name", r.task.name},
		{"xtuner.group_id", int64(r.group)},
		{"xtuner.rollout_id", int64(r.id)},
		{"xtuner.session_id", int64(r.id)},
		{"xtuner.status", "init"},
	}
}

// span begins a span of the rollout.
func (r *rollout) span(p *Process, parent *span, name string, attrs ...attribute) *span {
	if p.xtuner {
		attrs = append(r.attributes(), attrs...)
	}
	return r.sim.begin(p, parent, name, attrs...)
}

func (r *rollout) begin() {
	if r.task.agent {
		r.root = r.span(r.driver, nil, "sandbox_agent_loop.run", attribute{"agent.prompt", r.prompt})
		r.after(r.between(2*time.Millisecond, 10*time.Millisecond), r.acquire)
		return
	}
	r.root = r.span(r.driver, nil, "single_turn_agent_loop.run", attribute{"agent.prompt", r.prompt})
	r.after(r.between(time.Millisecond, 5*time.Millisecond), func() {
		r.generate(r.root, r.around(r.task.tokens), func(finish string) {
			if finish == "abort" {
				r.finish("aborted", finish)
				return
			}
			r.judge(r.root, func(ok bool) { r.judged(ok, finish) })
		})
	})
}

// judge has the judger say what the answer is worth.
func (r *rollout) judge(parent *span, done func(ok bool)) {
	r.after(r.between(time.Millisecond, 4*time.Millisecond), func() {
		sp := r.span(r.judger, parent, "judger.run")
		r.after(r.between(30*time.Millisecond, 700*time.Millisecond), func() {
			if r.often(25) {
				sp.fail("ValueError", "could not find an answer in: "+pick(r.sim, r.task.answers))
				r.end(sp)
				done(false)
				return
			}
			// Every third group is too easy or too hard: all of its rewards are the same.
			score := 0.0
			if r.group%6 == 5 || r.group%3 != 2 && r.often(550) {
				score = 1
			}
			r.rewards = append(r.rewards, score)
			sp.set("xtuner.status", "completed")
			r.end(sp, attribute{"reward.score", score}, attribute{"reward.pass", score > 0},
				attribute{"judger.answer", pick(r.sim, r.task.answers)})
			r.root.set("reward.score", score)
			r.root.set("reward.pass", score > 0)
			done(true)
		})
	})
}

// judged ends the rollout behind its judge.
func (r *rollout) judged(ok bool, finish string) {
	r.after(r.between(time.Millisecond, 3*time.Millisecond), func() {
		if ok {
			r.finish("completed", finish)
			return
		}
		r.fail("JudgerError", "the judger gave no reward")
	})
}

// fail ends the rollout with an error.
func (r *rollout) fail(exception, message string) {
	r.root.fail(exception, message)
	r.finish("failed", "error")
}

func (r *rollout) finish(status, finish string) {
	r.root.set("xtuner.status", status)
	r.root.set("finish_reason", finish)
	r.root.set("train.included", status == "completed")
	if r.attempt > 1 {
		r.root.set("oversample.source", fmt.Sprintf("attempt %d", r.attempt))
	}
	r.end(r.root)
	if status == "aborted" && r.number < r.set.Steps-1 {
		r.left = append(r.left, r)
	}
	r.over()
}
