package runfilereceiver

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/runspan/runspan/components/runfilereceiver/internal/metadata"
	"github.com/runspan/runspan/internal/runid"
	"github.com/runspan/runspan/internal/tracefile"
)

// teller says what happens, in the log and in metrics.
type teller struct {
	logger    *zap.Logger
	telemetry *metadata.TelemetryBuilder
	receiver  attribute.KeyValue
	attrs     metric.MeasurementOption

	refusals, badLines seldom
}

func newTeller(logger *zap.Logger, telemetry *metadata.TelemetryBuilder, name string) *teller {
	receiver := attribute.String("receiver", name)
	return &teller{
		logger: logger, telemetry: telemetry, receiver: receiver,
		attrs: metric.WithAttributeSet(attribute.NewSet(receiver)),
	}
}

func (t *teller) because(reason string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(t.receiver, attribute.String("reason", reason)))
}

func (t *teller) delivered(ctx context.Context, spans int) {
	t.telemetry.ReceiverRunFileDeliveredSpans.Add(ctx, int64(spans), t.attrs)
}

func (t *teller) retried(ctx context.Context) {
	t.telemetry.ReceiverRunFileRetries.Add(ctx, 1, t.attrs)
}

func (t *teller) filtered(ctx context.Context, spans int) {
	t.telemetry.ReceiverRunFileFilteredSpans.Add(ctx, int64(spans), t.attrs)
}

func (t *teller) skippedItems(ctx context.Context, items int) {
	t.telemetry.ReceiverRunFileSkippedItems.Add(ctx, int64(items), t.attrs)
}

// refused tells of one span that the backend does not want.
func (t *teller) refused(ctx context.Context, td ptrace.Traces, why error) {
	t.telemetry.ReceiverRunFileRefusedSpans.Add(ctx, 1, t.attrs)
	if before, now := t.refusals.now(); now {
		rs := td.ResourceSpans().At(0)
		span := rs.ScopeSpans().At(0).Spans().At(0)
		t.logger.Error("The backend refuses a span for good: it is stepped over",
			zap.Stringer("trace_id", span.TraceID()), zap.Stringer("span_id", span.SpanID()),
			zap.String("run", named(runid.AttributeRunID, span.Attributes(), rs.Resource().Attributes())),
			zap.Int("others_since_the_last_such_line", before), zap.Error(why))
	}
}

// skippedLine tells of a line that cannot be read.
func (t *teller) skippedLine(ctx context.Context, path string, offset int64, length int, why error) {
	reason := "not_json"
	if errors.Is(why, tracefile.ErrNotTraces) {
		reason = "not_traces"
	}
	t.telemetry.ReceiverRunFileSkippedLines.Add(ctx, 1, t.because(reason))
	if before, now := t.badLines.now(); now {
		t.logger.Error("A line cannot be read: it is stepped over",
			zap.String("path", path), zap.Int64("offset", offset), zap.Int("bytes", length),
			zap.Int("others_since_the_last_such_line", before), zap.Error(why))
	}
}

// fileEvent tells of what happened to a file or a place.
func (t *teller) fileEvent(e tracefile.TailEvent) {
	ctx := context.Background()
	path, offset, bytes := zap.String("path", e.Path), zap.Int64("offset", e.Offset), zap.Int64("bytes", e.Bytes)
	place := func(reason string) {
		t.telemetry.ReceiverRunFilePlaceFailures.Add(ctx, 1, t.because(reason))
	}
	const anew = "A place cannot be used: its file is read from start_at again"
	switch e.Kind {
	case tracefile.TailFileFound:
		t.logger.Info("Reading a file that has no place", path, offset, bytes)
	case tracefile.TailFileResumed:
		t.logger.Info("Reading on at the place of a file", path, offset, bytes)
	case tracefile.TailPlaceDamaged:
		place("damaged")
		t.logger.Warn(anew, path, zap.Error(e.Err))
	case tracefile.TailPlaceForeign:
		place("foreign")
		t.logger.Warn(anew, path, zap.Error(e.Err))
	case tracefile.TailPlaceUnreadable:
		place("unreadable")
		t.logger.Warn(anew, path, zap.Error(e.Err))
	case tracefile.TailPlaceUnwritable:
		place("unwritable")
		t.logger.Error("Places cannot be saved: after a restart the spans from now on come again", path, zap.Error(e.Err))
	case tracefile.TailPlaceWritable:
		t.logger.Info("Places can be saved again", path)
	case tracefile.TailLineTooLong:
		t.telemetry.ReceiverRunFileSkippedLines.Add(ctx, 1, t.because("too_long"))
		t.logger.Error("A line is longer than max_line_bytes: it is stepped over", path, offset, bytes)
	case tracefile.TailTruncated:
		t.telemetry.ReceiverRunFileRestarts.Add(ctx, 1, t.because("truncated"))
		t.logger.Warn("A file ends before what was read of it: reading goes on at its last line", path, offset, bytes)
	case tracefile.TailRewritten:
		t.telemetry.ReceiverRunFileRestarts.Add(ctx, 1, t.because("rewritten"))
		t.logger.Warn("A file does not hold anymore what was read of it: it is read from its beginning", path, offset, bytes)
	case tracefile.TailVanished:
		t.telemetry.ReceiverRunFileLostBytes.Add(ctx, e.Bytes, t.attrs)
		if e.Bytes > 0 {
			t.logger.Error("A file was removed before it was read to its end: the rest is lost for this backend", path, offset, bytes)
		}
	case tracefile.TailUnreadable:
		t.logger.Error("A file cannot be read: it is tried again", path, zap.Error(e.Err))
	}
}

// seldom lets one of many equal messages through, at most one a minute.
type seldom struct {
	mu     sync.Mutex
	last   time.Time
	before int
}

// now returns whether to say it, and how many were not said since the last.
func (s *seldom) now() (before int, now bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.last) < time.Minute {
		s.before++
		return 0, false
	}
	before = s.before
	s.last, s.before = time.Now(), 0
	return before, true
}
