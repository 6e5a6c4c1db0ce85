package runfilereceiver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What a backend refuses for good is found by halving; everything else of its batch arrives.
func TestReceiver_RefusedSpan(t *testing.T) {
	x := newFixture(t, nil)
	x.backend.set(func(_ context.Context, td ptrace.Traces) error {
		for _, name := range names(td) {
			if name == "span 37" || name == "span 90" {
				return consumererror.NewPermanent(status.Error(codes.InvalidArgument, "bad span"))
			}
		}
		return nil
	})
	for i := range 10 {
		x.write(t, line(t, "a", "driver", i*10, 10))
	}
	x.start(t)
	eventually(t, "98 spans", x.backend.has(98))
	eventually(t, "the backlog to end", func() bool { return x.value(t, "backlog_bytes", "") == 0 })
	assert.Equal(t, int64(2), x.value(t, "refused_spans", ""))
	assert.Equal(t, int64(98), x.value(t, "delivered_spans", ""))
	for name, n := range x.backend.taken {
		assert.Equal(t, 1, n, name)
	}
	refusals := x.logs.FilterMessageSnippet("refuses a span")
	require.Equal(t, 1, refusals.Len(), "one line a minute")
	assert.Equal(t, "a", refusals.All()[0].ContextMap()["run"])
}

// A wrong token must not empty the log: exporters call that permanent.
func TestReceiver_WrongTokenIsWaitedOut(t *testing.T) {
	for _, code := range []codes.Code{codes.Unauthenticated, codes.PermissionDenied, codes.Unimplemented} {
		t.Run(code.String(), func(t *testing.T) {
			x := newFixture(t, nil)
			x.backend.set(func(context.Context, ptrace.Traces) error {
				return fmt.Errorf("not retryable error: %w", consumererror.NewPermanent(status.Error(code, "no")))
			})
			x.write(t, line(t, "a", "driver", 0, 2))
			x.start(t)
			eventually(t, "three attempts", func() bool { return x.backend.asked() >= 3 })
			x.backend.set(nil)
			eventually(t, "2 spans", x.backend.has(2))
			assert.Zero(t, x.value(t, "refused_spans", ""))
		})
	}
}

func TestRefusedForGood(t *testing.T) {
	permanent := consumererror.NewPermanent(errors.New("no"))
	for _, tc := range []struct {
		err  error
		want bool
	}{
		{errDown, false},
		{permanent, true},
		{fmt.Errorf("wrapped: %w", permanent), true},
		{errors.Join(permanent, permanent), true},
		{errors.Join(permanent, errDown), false},
		{fmt.Errorf("two: %w", errors.Join(errDown, permanent)), false},
		{status.Error(codes.Unavailable, "down"), false},
		{consumererror.NewPermanent(status.Error(codes.InvalidArgument, "bad")), true},
		{consumererror.NewPermanent(status.Error(codes.Unauthenticated, "token")), false},
	} {
		assert.Equal(t, tc.want, refusedForGood(tc.err), "%v", tc.err)
	}
}

// A backend that took a part says which part it did not take: only that goes again.
func TestReceiver_PartTaken(t *testing.T) {
	x := newFixture(t, nil)
	var once sync.Once
	x.backend.set(func(_ context.Context, td ptrace.Traces) (err error) {
		once.Do(func() {
			first, second := halve(td)
			x.backend.take(first)
			err = consumererror.NewTraces(errDown, second)
		})
		return err
	})
	x.write(t, line(t, "a", "driver", 0, 10))
	x.start(t)
	eventually(t, "10 spans", x.backend.has(10))
	for name, n := range x.backend.taken {
		assert.Equal(t, 1, n, name)
	}
	eventually(t, "the count", func() bool { return x.value(t, "delivered_spans", "") == 10 })
}

// The same where it refuses that part for good: what it took does not go again in halves.
func TestReceiver_PartRefused(t *testing.T) {
	x := newFixture(t, nil)
	x.backend.set(func(_ context.Context, td ptrace.Traces) error {
		if td.SpanCount() == 10 {
			first, second := halve(td)
			x.backend.take(first)
			return fmt.Errorf("not retryable error: %w", consumererror.NewPermanent(
				consumererror.NewTraces(status.Error(codes.InvalidArgument, "bad"), second)))
		}
		if slices.Contains(names(td), "span 7") {
			return consumererror.NewPermanent(status.Error(codes.InvalidArgument, "bad"))
		}
		return nil
	})
	x.write(t, line(t, "a", "driver", 0, 10))
	x.start(t)
	eventually(t, "9 spans", x.backend.has(9))
	for name, n := range x.backend.taken {
		assert.Equal(t, 1, n, name)
	}
	eventually(t, "the counts", func() bool {
		return x.value(t, "delivered_spans", "") == 9 && x.value(t, "refused_spans", "") == 1
	})
}

// Where a pipeline has several exporters, what one of them took is not what all of them took.
func TestNotTaken(t *testing.T) {
	all, part := ptrace.NewTraces(), ptrace.NewTraces()
	all.ResourceSpans().AppendEmpty()
	partly := consumererror.NewTraces(errDown, part)
	for _, tc := range []struct {
		err  error
		want ptrace.Traces
	}{
		{errDown, all},
		{partly, part},
		{fmt.Errorf("no more retries left: %w", partly), part},
		{consumererror.NewPermanent(partly), part},
		{errors.Join(partly, errDown), all},
		{fmt.Errorf("two: %w", errors.Join(partly, partly)), all},
	} {
		assert.Equal(t, tc.want, notTaken(tc.err, all), "%v", tc.err)
	}
}

// A pipeline that changes spans gets them unchanged at each attempt.
func TestReceiver_MutatingPipeline(t *testing.T) {
	x := newFixture(t, nil)
	x.backend.mutates = true
	attempts := 0
	x.backend.set(func(_ context.Context, td ptrace.Traces) error {
		attempts++
		span := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
		span.SetName(span.Name() + " changed")
		if attempts < 3 {
			return errDown
		}
		return nil
	})
	x.write(t, line(t, "a", "driver", 0, 1))
	x.start(t)
	eventually(t, "the span", x.backend.has(1))
	assert.Equal(t, 1, x.backend.count("span 0 changed"))
}
