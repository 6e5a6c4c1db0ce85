package runfilereceiver

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pipeline"

	"github.com/runspan/runspan/internal/tracefile"
)

// The exporter at the end of the pipeline finds that it writes what was read.
func TestReceiver_LoopIsRefused(t *testing.T) {
	x := newFixture(t, nil)
	x.backend.set(func(ctx context.Context, _ ptrace.Traces) error {
		if err := tracefile.CheckLoop(ctx, filepath.Join(x.dir, "traces.jsonl")); err != nil {
			return consumererror.NewPermanent(err)
		}
		return tracefile.CheckLoop(ctx, filepath.Join(x.dir, "other.jsonl"))
	})
	host := &statusHost{events: make(chan *componentstatus.Event, 10)}
	x.write(t, line(t, "a", "driver", 0, 1))
	require.NoError(t, x.Start(t.Context(), host))
	event := <-host.events
	assert.Equal(t, componentstatus.StatusFatalError, event.Status())
	require.ErrorIs(t, event.Err(), tracefile.ErrLoop)
	x.stop(t)
	assert.Empty(t, x.backend.taken)
	assert.Zero(t, x.value(t, "refused_spans", ""), "the span is not lost")
}

type statusHost struct {
	component.Host
	events chan *componentstatus.Event
}

func (h *statusHost) Report(e *componentstatus.Event) { h.events <- e }

func (*statusHost) GetExtensions() map[component.ID]component.Component { return nil }

// Where every exporter writes what is read, the loop is seen at the start.
func TestReceiver_LoopIsRefusedAtStart(t *testing.T) {
	x := newFixture(t, nil)
	writer, other := component.MustNewID("run_file"), component.MustNewIDWithName("otlp_grpc", "jaeger")
	t.Cleanup(tracefile.RegisterWriter(writer.String(), filepath.Join(x.dir, "traces.jsonl")))
	host := graphHost{componenttest.NewNopHost(), map[component.ID]component.Component{writer: nil}}
	require.ErrorIs(t, x.Start(t.Context(), host), tracefile.ErrLoop)
	host.exporters[other] = nil
	require.NoError(t, x.Start(t.Context(), host))
}

type graphHost struct {
	component.Host
	exporters map[component.ID]component.Component
}

func (h graphHost) GetExporters() map[pipeline.Signal]map[component.ID]component.Component {
	return map[pipeline.Signal]map[component.ID]component.Component{pipeline.SignalTraces: h.exporters}
}

// An extension that shows the progress gets it.
func TestReceiver_ProgressViewer(t *testing.T) {
	x := newFixture(t, nil)
	viewer := &viewerExtension{}
	host := extensionHost{componenttest.NewNopHost(), viewer}
	x.write(t, line(t, "a", "driver", 0, 1))
	require.NoError(t, x.Start(t.Context(), host))
	eventually(t, "the span to be delivered", func() bool {
		p := viewer.progress()
		return len(p) == 1 && p[0].Size > 0 && p[0].Delivered == p[0].Size && p[0].Backlog == 0
	})
	assert.Equal(t, x.name.String(), viewer.name)
	x.stop(t)
	assert.True(t, viewer.removed)
}

type viewerExtension struct {
	component.Component
	name     string
	progress func() []tracefile.TailProgress
	removed  bool
}

func (v *viewerExtension) AddReader(name string, progress func() []tracefile.TailProgress) func() {
	v.name, v.progress = name, progress
	return func() { v.removed = true }
}

type extensionHost struct {
	component.Host
	extension component.Component
}

func (h extensionHost) GetExtensions() map[component.ID]component.Component {
	return map[component.ID]component.Component{component.MustNewID("run_viewer"): h.extension}
}
