package process

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	acceptedSpans = "otelcol_receiver_accepted_spans"
	arrivalPoll   = 10 * time.Millisecond
	arrivalLimit  = 2 * time.Minute
)

// WaitForArrival returns when the collector has taken in sent spans since its start, and its backend,
// if there is one, as many. Too many, or too few after two minutes, is an error: then the figures
// would be about something else.
func (c *Collector) WaitForArrival(ctx context.Context, sent int) error {
	last := c
	if c.backend != nil {
		last = c.backend
	}
	for deadline := time.Now().Add(arrivalLimit); ; {
		got, err := last.accepted(ctx)
		switch {
		case err != nil:
			return err
		case got == sent:
			return nil
		case got > sent:
			return fmt.Errorf("%d spans arrived of %d sent", got, sent)
		case time.Now().After(deadline):
			return fmt.Errorf("%d spans arrived of %d sent after %s: %s", got, sent, arrivalLimit, c.stderr)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(arrivalPoll):
		}
	}
}

// accepted returns how many spans the collector has taken in since its start.
func (c *Collector) accepted(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.metrics, http.NoBody)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("read the collector's metrics: %w: %s", err, c.stderr)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("read the collector's metrics: %s", response.Status)
	}
	return sum(response.Body, acceptedSpans)
}

// sum adds up all series of a metric in Prometheus's text format; a metric without any is 0.
func sum(text io.Reader, metric string) (int, error) {
	total := 0.0
	scanner := bufio.NewScanner(text)
	for scanner.Scan() {
		rest, ok := strings.CutPrefix(scanner.Text(), metric)
		if !ok || (!strings.HasPrefix(rest, "{") && !strings.HasPrefix(rest, " ")) {
			continue
		}
		value := rest[strings.LastIndexByte(rest, ' ')+1:]
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("metric %s: value %q is no number", metric, value)
		}
		total += n
	}
	return int(total), scanner.Err()
}
