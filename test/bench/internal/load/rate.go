package load

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// inFlight is how many requests a fixed rate may have under way. With all of them waiting for an
// answer the next is sent late, and its wait counts as latency.
const inFlight = 32

// Rate sends the given number of requests at a fixed number a second, and returns how long each took
// in seconds, sorted. The clock of a request starts when it should have been sent, not when it was:
// a collector that stalls makes all requests late that fall into the stall, as it would for
// producers that do not wait for each other.
func (c *Clients) Rate(ctx context.Context, requests int, perSecond float64) ([]float64, error) {
	if perSecond <= 0 {
		return nil, fmt.Errorf("rate: %v requests a second: must be more than 0", perSecond)
	}
	senders, err := c.newSenders(max(inFlight, len(c.conns)))
	if err != nil {
		return nil, err
	}
	latencies := make([]float64, requests)
	var taken atomic.Int64
	start := time.Now()
	err = each(ctx, senders, func(ctx context.Context, s *sender) error {
		for {
			i := taken.Add(1) - 1
			if i >= int64(requests) {
				return nil
			}
			intended := start.Add(time.Duration(float64(i) / perSecond * float64(time.Second)))
			time.Sleep(time.Until(intended))
			if err := s.send(ctx, c.next.Add(1)); err != nil {
				return err
			}
			latencies[i] = time.Since(intended).Seconds()
		}
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(latencies)
	return latencies, nil
}
