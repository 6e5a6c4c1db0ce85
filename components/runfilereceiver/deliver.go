package runfilereceiver

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/runspan/runspan/internal/tracefile"
)

// deliverer hands spans to the pipeline until the backend has taken or refused each of them.
type deliverer struct {
	next consumer.Traces
	gate *gate
	tell *teller
}

// deliver returns nil when every span of td was taken or refused for good, the error of ctx when it
// was given up before, or ErrLoop. What a backend refuses for good is halved, down to the spans that
// it is about; they are stepped over.
func (d *deliverer) deliver(ctx context.Context, td ptrace.Traces) error {
	parts := []ptrace.Traces{td}
	for len(parts) > 0 {
		part := parts[len(parts)-1]
		parts = parts[:len(parts)-1]
		n := part.SpanCount()
		if n == 0 {
			continue
		}
		part, refused, err := d.handOver(ctx, part)
		switch {
		case err != nil:
			return err
		case refused == nil:
		case part.SpanCount() > 1:
			first, second := halve(part)
			parts = append(parts, second, first)
		default:
			d.tell.refused(ctx, part, refused)
		}
	}
	return nil
}

// handOver passes td on until the backend takes it (refused is nil) or refuses it for good. It
// returns what is left of td: a backend may take a part of it.
func (d *deliverer) handOver(ctx context.Context, td ptrace.Traces) (left ptrace.Traces, refused, err error) {
	for {
		isProbe, err := d.gate.enter(ctx)
		if err != nil {
			return td, nil, err
		}
		n := td.SpanCount()
		attempt := td
		if d.next.Capabilities().MutatesData {
			// What the pipeline does to the spans must not be done twice.
			attempt = ptrace.NewTraces()
			td.CopyTo(attempt)
		}
		answer := d.next.ConsumeTraces(ctx, attempt)
		switch {
		case answer == nil:
			d.gate.leave(isProbe, nil)
			d.tell.delivered(ctx, n)
			return td, nil, nil
		case errors.Is(answer, tracefile.ErrLoop):
			d.gate.canceled(isProbe)
			return td, nil, answer
		case ctx.Err() != nil:
			d.gate.canceled(isProbe)
			return td, nil, ctx.Err()
		}
		td = notTaken(answer, td)
		d.tell.delivered(ctx, max(0, n-td.SpanCount()))
		if refusedForGood(answer) {
			d.gate.leave(isProbe, nil)
			return td, answer, nil
		}
		d.gate.leave(isProbe, answer)
		d.tell.retried(ctx)
	}
}

// notTaken returns the part of td that the backend did not take: what the error holds, or all of it.
// Where a pipeline has several exporters it is all: what one of them took another may have not.
func notTaken(answer error, td ptrace.Traces) ptrace.Traces {
	for e := answer; e != nil; e = errors.Unwrap(e) {
		if partly, ok := e.(consumererror.Traces); ok { //nolint:errorlint // errors.As would look into joined ones
			return partly.Data()
		}
	}
	return td
}

// refusedForGood reports whether an error is about the spans, so that sending them again cannot
// help. Where a pipeline has several exporters, each of those that failed must say so: stepping over
// what one of them refuses would lose it for one that was down for a moment.
func refusedForGood(err error) bool {
	if !consumererror.IsPermanent(err) {
		return false
	}
	// These are about the sender: a wrong token or address, which exporters call permanent too. It
	// would empty the whole log into nothing. They are waited out like an outage.
	switch status.Code(rootStatus(err)) {
	case codes.Unauthenticated, codes.PermissionDenied, codes.Unimplemented:
		return false
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		if joined, ok := e.(interface{ Unwrap() []error }); ok {
			for _, one := range joined.Unwrap() {
				if !refusedForGood(one) {
					return false
				}
			}
			return true
		}
	}
	return true
}

// rootStatus returns the innermost error of a chain that carries a gRPC status.
func rootStatus(err error) error {
	var found interface{ GRPCStatus() *status.Status }
	if errors.As(err, &found) {
		if e, ok := found.(error); ok {
			return e
		}
	}
	return err
}
