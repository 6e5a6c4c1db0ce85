package simulation

import "time"

// train is what the trainer does with the rollouts of a step: a trace of its own.
func (st *step) train() {
	mean := 0.0
	for _, reward := range st.rewards {
		mean += reward / float64(len(st.rewards))
	}
	number := attribute{"xtuner.train_step", int64(st.number)}
	root := st.begin(st.driver, nil, "train.step", number, attribute{"train.samples", int64(len(st.rewards))},
		attribute{"reward.mean", mean})
	open := len(st.ranks)
	for _, rank := range st.ranks {
		st.after(st.between(2*time.Millisecond, 20*time.Millisecond), func() {
			both := st.begin(rank, root, "train.forward_backward", number)
			st.after(st.between(1800*time.Millisecond, 3200*time.Millisecond), func() {
				st.end(both, attribute{"train.loss", 0.9 - 0.02*float64(st.number) + 0.05*st.rng.NormFloat64()})
				update := st.begin(rank, root, "train.optimizer_step", number)
				st.after(st.between(200*time.Millisecond, 500*time.Millisecond), func() {
					st.end(update)
					if open--; open == 0 {
						st.syncWeights(root, number)
					}
				})
			})
		})
	}
}

// syncWeights hands the new weights to the workers, and begins the next step.
func (st *step) syncWeights(root *span, number attribute) {
	sync := st.begin(st.driver, root, "train.sync_weights", number)
	open := 0
	over := func() {
		if open--; open > 0 {
			return
		}
		st.after(st.between(5*time.Millisecond, 20*time.Millisecond), func() {
			st.end(sync)
			st.end(root)
			if st.number+1 < st.set.Steps {
				st.step(st.number+1, st.left)
			}
		})
	}
	for _, w := range st.pool.workers {
		if w.down {
			continue
		}
		open++
		st.after(st.between(2*time.Millisecond, 10*time.Millisecond), func() {
			sp := st.begin(w.process, sync, "rollout.worker.update_weights", number)
			st.after(st.between(300*time.Millisecond, 900*time.Millisecond), func() {
				st.end(sp)
				over()
			})
		})
	}
	if open == 0 {
		open = 1
		over()
	}
}
