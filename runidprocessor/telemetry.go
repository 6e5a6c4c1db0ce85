package runidprocessor

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/runspan/runspan/runidprocessor/internal/metadata"
)

// telemetry adds what requests counted to the processor's own metrics. The attribute sets are made
// once. None holds a run id: there is no bound to how many runs a collector sees.
type telemetry struct {
	builder  *metadata.TelemetryBuilder
	bySource [numSources]metric.MeasurementOption
	ignored  [numIgnored]metric.MeasurementOption
	refused  [numRefused]metric.MeasurementOption
}

func newTelemetry(builder *metadata.TelemetryBuilder, p *runIDProcessor) (*telemetry, error) {
	t := &telemetry{builder: builder}
	for i, name := range sourceNames {
		t.bySource[i] = withLabel("source", name)
	}
	for i, name := range ignoredNames {
		t.ignored[i] = withLabel("reason", name)
	}
	for i, name := range refusedNames {
		t.refused[i] = withLabel("reason", name)
	}
	if p.memory == nil {
		return t, nil
	}
	return t, t.observe(p)
}

// observe has the metrics of the trace memory read when they are asked for.
func (t *telemetry) observe(p *runIDProcessor) error {
	m := p.memory
	err := t.builder.RegisterProcessorRunIDTracesRememberedCallback(func(_ context.Context, o metric.Int64Observer) error {
		// Without requests nothing else forgets what is too old.
		m.expire(p.clock())
		o.Observe(m.remembered.Load())
		return nil
	})
	if err != nil {
		return err
	}
	err = t.builder.RegisterProcessorRunIDTraceConflictsCallback(func(_ context.Context, o metric.Int64Observer) error {
		o.Observe(m.conflicts.Load())
		return nil
	})
	if err != nil {
		return err
	}
	byAge, bySize := withLabel("reason", "age"), withLabel("reason", "size")
	return t.builder.RegisterProcessorRunIDTracesEvictedCallback(func(_ context.Context, o metric.Int64Observer) error {
		o.Observe(m.evictedByAge.Load(), byAge)
		o.Observe(m.evictedBySize.Load(), bySize)
		return nil
	})
}

func withLabel(key, value string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attribute.String(key, value)))
}

// count adds what q counted.
func (t *telemetry) count(ctx context.Context, q *request) {
	add(ctx, t.builder.ProcessorRunIDSpans, q.bySource[:], t.bySource[:])
	add(ctx, t.builder.ProcessorRunIDSpansRefused, q.refused[:], t.refused[:])
	add(ctx, t.builder.ProcessorRunIDValuesIgnored, q.ignored[:], t.ignored[:])
}

func add(ctx context.Context, counter metric.Int64Counter, counts []int, labels []metric.MeasurementOption) {
	for i, n := range counts {
		if n > 0 {
			counter.Add(ctx, int64(n), labels[i])
		}
	}
}
