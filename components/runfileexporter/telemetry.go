package runfileexporter

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/runspan/runspan/components/runfileexporter/internal/metadata"
	"github.com/runspan/runspan/internal/tracefile"
)

// telemetry turns what happens to the file into metrics, log lines and the component's status.
type telemetry struct {
	builder *metadata.TelemetryBuilder
	logger  *zap.Logger
	host    component.Host // from start on
}

var _ tracefile.Observer = (*telemetry)(nil)

func newTelemetry(set component.TelemetrySettings, path string) (*telemetry, error) {
	builder, err := metadata.NewTelemetryBuilder(set)
	if err != nil {
		return nil, err
	}
	return &telemetry{builder: builder, logger: set.Logger.With(zap.String("path", path))}, nil
}

// observe registers the metrics that are asked for.
func (t *telemetry) observe(files *tracefile.Files) error {
	return t.builder.RegisterExporterRunFileOpenFilesCallback(func(_ context.Context, o metric.Int64Observer) error {
		o.Observe(int64(files.OpenCount()))
		return nil
	})
}

func (t *telemetry) close() { t.builder.Shutdown() }

func (t *telemetry) spans(ctx context.Context, n int) {
	t.builder.ExporterRunFileSpans.Add(ctx, int64(n))
}

func (t *telemetry) failed(ctx context.Context, reason string) {
	t.builder.ExporterRunFileFailures.Add(ctx, 1, metric.WithAttributeSet(
		attribute.NewSet(attribute.String("reason", reason))))
}

func (t *telemetry) flattened(ctx context.Context, values int) {
	t.builder.ExporterRunFileFlattenedValues.Add(ctx, int64(values))
}

// The observer's methods have no request of their own: a line may be written after its client left.

func (t *telemetry) LineWritten(bytes int, took time.Duration) {
	ctx := context.Background()
	t.builder.ExporterRunFileLines.Add(ctx, 1)
	t.builder.ExporterRunFileBytes.Add(ctx, int64(bytes))
	t.builder.ExporterRunFileWriteDuration.Record(ctx, took.Seconds())
}

func (t *telemetry) Synced(took time.Duration, err error) {
	ctx := context.Background()
	t.builder.ExporterRunFileSyncDuration.Record(ctx, took.Seconds())
	if err != nil {
		t.builder.ExporterRunFileSyncFailures.Add(ctx, 1)
	}
}

func (t *telemetry) Duplicate() {
	t.builder.ExporterRunFileDuplicates.Add(context.Background(), 1)
}

func (t *telemetry) MovedAside(bytes int64, to string) {
	t.builder.ExporterRunFileTornBytes.Add(context.Background(), bytes)
	t.logger.Warn("Moved bytes that are no line out of the trace file: a crash tore them, nobody was told that they are written",
		zap.Int64("bytes", bytes), zap.String("to", to))
}

func (t *telemetry) Recreated(why string) {
	t.logger.Warn("Made the trace file anew", zap.String("reason", why))
}

func (t *telemetry) Rotated(segment string, bytes int64) {
	t.builder.ExporterRunFileRotations.Add(context.Background(), 1)
	t.logger.Debug("Closed a segment", zap.String("segment", segment), zap.Int64("bytes", bytes))
}

func (t *telemetry) NotRotated(err error) {
	t.logger.Error("The trace file cannot be closed as a segment and is written on; it is tried again", zap.Error(err))
}

func (t *telemetry) Deleted(d tracefile.Deletion) {
	ctx := context.Background()
	reason := metric.WithAttributeSet(attribute.NewSet(attribute.String("reason", d.Reason)))
	t.builder.ExporterRunFileDeletedFiles.Add(ctx, 1, reason)
	t.builder.ExporterRunFileDeletedBytes.Add(ctx, d.Bytes, reason)
	for reader, bytes := range d.Unread {
		t.builder.ExporterRunFileDeletedUnreadBytes.Add(ctx, bytes, metric.WithAttributeSet(
			attribute.NewSet(attribute.String("reader", reader))))
	}
	fields := []zap.Field{
		zap.String("file", d.Path), zap.Int64("bytes", d.Bytes), zap.Duration("age", d.Age), zap.String("retention", d.Reason),
	}
	for reader, bytes := range d.Unread {
		// A log that is sampled goes by the message: the first one of each reader gets through.
		t.logger.Warn("Deleted a file that "+reader+" had not read to its end: what is missing is lost for its backend",
			append(slices.Clip(fields), zap.String("reader", reader), zap.Int64("unread_bytes", bytes))...)
	}
	if len(d.Unread) > 0 {
		return
	}
	t.logger.Info("Deleted a file that is past its retention", fields...)
}

func (t *telemetry) NotDeleted(err error) {
	t.logger.Error("Retention cannot keep its limits", zap.Error(err))
}

func (t *telemetry) Lost(lines int, why error) {
	t.builder.ExporterRunFileLostLines.Add(context.Background(), int64(lines))
	t.logger.Error("Acknowledged lines are gone from the trace file; durability: sync acknowledges them later",
		zap.Int("lines", lines), zap.Error(why))
}

func (t *telemetry) Health(err error) {
	if err == nil {
		t.logger.Info("The trace file can be written again")
		componentstatus.ReportStatus(t.host, componentstatus.NewEvent(componentstatus.StatusOK))
		return
	}
	t.logger.Error("The trace file cannot be written; clients are told to send again later",
		zap.String("reason", tracefile.Reason(err)), zap.Error(err))
	componentstatus.ReportStatus(t.host, componentstatus.NewRecoverableErrorEvent(err))
}
