package runfileexporter

import (
	"context"
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
