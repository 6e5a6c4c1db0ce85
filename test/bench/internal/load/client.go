// Package load sends spans to a collector: as fast as it takes them, or at a fixed rate.
package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/runspan/runspan/test/bench/internal/spans"
)

const (
	export         = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
	requestTimeout = time.Minute // a collector that does not answer must not hold up the benchmark for ever
)

// Clients are the producers of one collector. Each has a connection of its own.
type Clients struct {
	shape   spans.Shape
	conns   []*grpc.ClientConn
	senders []*sender     // of Flood: one for each connection
	next    atomic.Uint64 // number of the next request: no two requests are alike
}

// sender is one request at a time on one connection.
type sender struct {
	conn     *grpc.ClientConn
	template *spans.Template
	response []byte
}

// Connect prepares n clients that send requests of the given shape to endpoint.
func Connect(endpoint string, n int, shape spans.Shape) (*Clients, error) {
	if n < 1 {
		return nil, fmt.Errorf("clients: %d: must be at least 1", n)
	}
	c := &Clients{shape: shape}
	for range n {
		conn, err := grpc.NewClient(endpoint,
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw{})))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("connect to %s: %w", endpoint, err), c.Close())
		}
		c.conns = append(c.conns, conn)
	}
	var err error
	if c.senders, err = c.newSenders(n); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// newSenders returns n senders, spread over the connections.
func (c *Clients) newSenders(n int) ([]*sender, error) {
	senders := make([]*sender, n)
	for i := range senders {
		template, err := spans.New(c.shape)
		if err != nil {
			return nil, err
		}
		senders[i] = &sender{conn: c.conns[i%len(c.conns)], template: template}
	}
	return senders, nil
}

// Close ends the connections.
func (c *Clients) Close() error {
	var err error
	for _, conn := range c.conns {
		err = errors.Join(err, conn.Close())
	}
	return err
}

// Flood sends the given number of requests, each client its next one as soon as the last is
// acknowledged. A request that is refused ends it with an error.
func (c *Clients) Flood(ctx context.Context, requests int) error {
	var taken atomic.Int64
	return each(ctx, c.senders, func(ctx context.Context, s *sender) error {
		for taken.Add(1) <= int64(requests) {
			if err := s.send(ctx, c.next.Add(1)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *sender) send(ctx context.Context, seq uint64) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	// The template's bytes are free again when the answer is here.
	if err := s.conn.Invoke(ctx, export, s.template.Stamp(seq), &s.response); err != nil {
		return fmt.Errorf("a request was refused: %w", err)
	}
	// An empty partial success takes two bytes; more may be spans that were thrown away.
	if len(s.response) <= 2 {
		return nil
	}
	response := ptraceotlp.NewExportResponse()
	if err := response.UnmarshalProto(s.response); err != nil {
		return fmt.Errorf("read a response: %w", err)
	}
	if p := response.PartialSuccess(); p.RejectedSpans() > 0 {
		return fmt.Errorf("%d spans of a request were rejected: %s", p.RejectedSpans(), p.ErrorMessage())
	}
	return nil
}

// each runs work for all senders at once and returns the first errors; one that fails stops all.
func each(ctx context.Context, senders []*sender, work func(context.Context, *sender) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for _, s := range senders {
		wg.Go(func() {
			if err := work(ctx, s); err != nil {
				cancel(err) // the first one counts: the others fail because of it
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}
