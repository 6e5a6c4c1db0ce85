package simulation

import (
	"math"
	"time"
)

// between returns a duration in [least, most).
func (s *sim) between(least, most time.Duration) time.Duration {
	return least + time.Duration(s.rng.Int64N(int64(most-least)))
}

// often is true in so many of a thousand cases.
func (s *sim) often(perMille int) bool { return s.rng.IntN(1000) < perMille }

// around returns a number around the median, as lengths of answers are spread: half as large and
// twice as large are as likely.
func (s *sim) around(median int) int {
	return max(1, int(float64(median)*math.Exp(0.45*s.rng.NormFloat64())))
}

func pick[T any](s *sim, from []T) T { return from[s.rng.IntN(len(from))] }
