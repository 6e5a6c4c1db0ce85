package simulation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

const (
	// answerWithin is how long a client waits for an answer before it sends again.
	answerWithin = 10 * time.Second
	// A client that got no OK sends again after firstPause, and then twice as late each time.
	firstPause, lastPause = 20 * time.Millisecond, time.Second
)

// Endpoints are the addresses of a collector, host:port.
type Endpoints struct{ GRPC, HTTP string }

// Send sends the run: each process over a connection of its own, one request after the other, each
// until the collector says that it has it. live has a request wait until its time has come; otherwise
// all go as fast as they are taken. It returns when all are taken, when the collector refuses a
// request for good, or when ctx ends.
func (r *Run) Send(ctx context.Context, to Endpoints, live bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for _, p := range r.Processes {
		all.Go(func() {
			if err := r.sendOf(ctx, p, to, live); err != nil {
				cancel(err) // the first one counts: the others end because of it
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

func (r *Run) sendOf(ctx context.Context, p *Process, to Endpoints, live bool) error {
	c, err := dial(p, to)
	if err != nil {
		return err
	}
	defer c.close()
	for _, request := range r.Requests {
		if request.Process != p {
			continue
		}
		if live {
			if err := pause(ctx, time.Until(r.Start.Add(request.At))); err != nil {
				return err
			}
		}
		if err := c.deliver(ctx, request.Traces); err != nil {
			return fmt.Errorf("%s: %w", p.Name(), err)
		}
	}
	return nil
}

// SendInOrder sends the run over one connection in the order of Requests, so that the collector gets it
// the same way each time.
func (r *Run) SendInOrder(ctx context.Context, to Endpoints) error {
	c, err := dial(&Process{}, to)
	if err != nil {
		return err
	}
	defer c.close()
	for _, request := range r.Requests {
		if err := c.deliver(ctx, request.Traces); err != nil {
			return err
		}
	}
	return nil
}

// client is a process's connection to the collector.
type client struct {
	send  func(context.Context, ptraceotlp.ExportRequest) error
	close func()
}

func dial(p *Process, to Endpoints) (*client, error) {
	if p.HTTP {
		transport := &http.Transport{MaxIdleConnsPerHost: 1}
		over := &overHTTP{http.Client{Transport: transport, Timeout: answerWithin}, "http://" + to.HTTP + "/v1/traces"}
		return &client{over.send, transport.CloseIdleConnections}, nil
	}
	// gRPC's own pauses between attempts to connect grow to two minutes.
	quickly := backoff.Config{BaseDelay: firstPause, Multiplier: 2, MaxDelay: lastPause}
	conn, err := grpc.NewClient(to.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: quickly, MinConnectTimeout: lastPause}))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", to.GRPC, err)
	}
	over := ptraceotlp.NewGRPCClient(conn)
	return &client{
		func(ctx context.Context, request ptraceotlp.ExportRequest) error {
			ctx, cancel := context.WithTimeout(ctx, answerWithin)
			defer cancel()
			answer, err := over.Export(ctx, request)
			switch status.Code(err) {
			case codes.OK:
				return rejected(answer)
			case codes.InvalidArgument, codes.Unimplemented, codes.PermissionDenied, codes.Unauthenticated:
				return &refusedError{err}
			default:
				return err
			}
		},
		func() { _ = conn.Close() },
	}, nil
}

// refusedError is an answer that sending again would not change.
type refusedError struct{ error }

func (err *refusedError) Unwrap() error { return err.error }

// deliver sends spans until the collector has them, as an SDK does.
func (c *client) deliver(ctx context.Context, td ptrace.Traces) error {
	request := ptraceotlp.NewExportRequestFromTraces(td)
	wait := firstPause
	for {
		err := c.send(ctx, request)
		if err == nil {
			return nil
		}
		if refused, ok := errors.AsType[*refusedError](err); ok {
			return refused
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, lastPause)
	}
}

func rejected(answer ptraceotlp.ExportResponse) error {
	if p := answer.PartialSuccess(); p.RejectedSpans() > 0 {
		return &refusedError{fmt.Errorf("%d spans were rejected: %s", p.RejectedSpans(), p.ErrorMessage())}
	}
	return nil
}

type overHTTP struct {
	http http.Client
	url  string
}

func (c *overHTTP) send(ctx context.Context, request ptraceotlp.ExportRequest) error {
	body, err := request.MarshalProto()
	if err != nil {
		return &refusedError{err}
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return &refusedError{err}
	}
	post.Header.Set("Content-Type", "application/x-protobuf")
	response, err := c.http.Do(post)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	switch code := response.StatusCode; {
	case code == http.StatusOK:
		answer := ptraceotlp.NewExportResponse()
		if err := answer.UnmarshalProto(text); err != nil {
			return &refusedError{err}
		}
		return rejected(answer)
	case code == http.StatusTooManyRequests || code >= http.StatusInternalServerError:
		return fmt.Errorf("%s: %s", response.Status, text)
	default:
		return &refusedError{fmt.Errorf("%s: %s", response.Status, text)}
	}
}

// pause waits, and returns the reason when ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
