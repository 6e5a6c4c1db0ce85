package simulation

import "time"

// acquire gets a sandbox for the agent.
func (r *rollout) acquire() {
	sp := r.span(r.driver, r.root, "acquire", attribute{"sandbox.image", "swe-bench:2026-11"})
	r.after(r.between(150*time.Millisecond, 1500*time.Millisecond), func() {
		if r.often(30) {
			sp.fail("SandboxError", "no sandbox is free within 1.5 s")
			r.end(sp)
			r.fail("SandboxError", "acquire failed")
			return
		}
		r.end(sp)
		infer := r.span(r.driver, r.root, "infer")
		r.after(r.between(3*time.Millisecond, 12*time.Millisecond), func() {
			agent := r.span(r.agent, infer, "agent.run")
			r.turns = 2 + r.rng.IntN(3)
			r.turn(agent, func(finish string) {
				agent.set("agent.finish_reason", finish)
				r.end(agent)
				r.after(r.between(time.Millisecond, 5*time.Millisecond), func() {
					r.end(infer)
					r.validate(finish)
				})
			})
		})
	})
}

// turn is one answer of the model and the tools that it calls, again and again.
func (r *rollout) turn(agent *span, done func(finish string)) {
	llm := r.span(r.agent, agent, "llm_generate")
	r.after(r.between(time.Millisecond, 6*time.Millisecond), func() {
		r.generate(llm, r.around(r.task.tokens), func(finish string) {
			r.end(llm, attribute{"finish_reason", finish})
			r.turns--
			if finish == "abort" || r.turns == 0 {
				done(finish)
				return
			}
			r.call(agent, func() { r.turn(agent, done) })
		})
	})
}

// call calls a tool.
func (r *rollout) call(agent *span, done func()) {
	tool := pick(r.sim, r.task.tools)
	sp := r.span(r.agent, agent, "tool_call", attribute{"agent.tool.name", tool.name},
		attribute{"agent.tool.arguments", tool.arguments})
	r.after(r.between(40*time.Millisecond, 2500*time.Millisecond), func() {
		if r.often(120) {
			sp.fail("ToolError", tool.failure)
		}
		r.end(sp)
		r.after(r.between(time.Millisecond, 5*time.Millisecond), done)
	})
}

// validate judges what the agent left in its sandbox.
func (r *rollout) validate(finish string) {
	if finish == "abort" {
		r.finish("aborted", finish)
		return
	}
	sp := r.span(r.driver, r.root, "validate")
	r.judge(sp, func(ok bool) {
		r.after(r.between(time.Millisecond, 3*time.Millisecond), func() {
			r.end(sp)
			r.judged(ok, finish)
		})
	})
}
