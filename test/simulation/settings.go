package simulation

import (
	"fmt"
	"time"
)

// Settings say which run is made. What is zero takes its default.
type Settings struct {
	// Seed of everything that is left to chance.
	Seed uint64
	// Start of the run. Default: 2026-12-01 10:15:00 UTC.
	Start time.Time
	// Steps are the training steps, about half a minute each. Default: 4.
	Steps int
	// Groups are the prompts of a step. Default: 8; the four kinds of tasks take turns.
	Groups int
	// Siblings are the rollouts of a group. Default: 4.
	Siblings int
	// Workers are the rollout workers, each with an engine of its own. Default: 4.
	Workers int
	// Speed is how many times faster than in life everything happens, durations too. Default: 1.
	Speed float64
	// DriverKilled has the driver be killed in the middle of the last step. What it had not sent never
	// arrives, the roots of many traces among it, and the run ends there.
	DriverKilled bool
}

func (s Settings) withDefaults() Settings {
	if s.Start.IsZero() {
		s.Start = time.Date(2026, 12, 1, 10, 15, 0, 0, time.UTC)
	}
	for _, d := range []struct {
		value *int
		is    int
	}{{&s.Steps, 4}, {&s.Groups, 8}, {&s.Siblings, 4}, {&s.Workers, 4}} {
		if *d.value == 0 {
			*d.value = d.is
		}
	}
	if s.Speed == 0 {
		s.Speed = 1
	}
	return s
}

func (s Settings) check() error {
	for _, c := range []struct {
		name  string
		value int
	}{{"steps", s.Steps}, {"groups", s.Groups}, {"siblings", s.Siblings}, {"workers", s.Workers}} {
		if c.value < 1 {
			return fmt.Errorf("%s: %d: must be at least 1", c.name, c.value)
		}
	}
	if !(s.Speed > 0) {
		return fmt.Errorf("speed: %g: must be above 0", s.Speed)
	}
	return nil
}
