package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/runspan/runspan/test/simulation"
)

// Live runs are two at a time; the second one begins this much later.
const liveApart = 20 * time.Second

// sendRuns sends two runs that are over, one of them because its driver was killed, and then live ones,
// one after the other in two lanes, until ctx ends.
func sendRuns(ctx context.Context, o options, to simulation.Endpoints, now time.Time) error {
	var mu sync.Mutex
	say := func(id, what string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf("  run %-34s %s\n", id, what)
	}
	for i, past := range []struct {
		ago    time.Duration
		killed bool
		what   string
	}{
		{16 * time.Minute, false, "is over"},
		{9 * time.Minute, true, "is over: its driver was killed"},
	} {
		run, err := simulation.New(simulation.Settings{
			Seed: o.seed + uint64(i), Start: now.Add(-past.ago), Steps: 6, DriverKilled: past.killed,
		})
		if err != nil {
			return err
		}
		if err := run.Send(ctx, to, false); err != nil {
			return err
		}
		say(run.ID, past.what)
	}

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var lanes sync.WaitGroup
	for lane := range 2 {
		lanes.Go(func() {
			if err := sendLive(ctx, o, lane, to, say); err != nil {
				cancel(err)
			}
		})
	}
	lanes.Wait()
	return context.Cause(ctx)
}

// sendLive sends one live run after the other.
func sendLive(ctx context.Context, o options, lane int, to simulation.Endpoints, say func(id, what string)) error {
	select {
	case <-time.After(time.Duration(float64(lane) * float64(liveApart) / o.speed)):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for seed := o.seed + 2 + uint64(lane); ; seed += 2 {
		run, err := simulation.New(simulation.Settings{Seed: seed, Start: time.Now(), Steps: 8, Speed: o.speed})
		if err != nil {
			return err
		}
		say(run.ID, "is live")
		if err := run.Send(ctx, to, true); err != nil {
			return err
		}
		say(run.ID, "is over")
	}
}
