package runfileexporter

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/runspan/runspan/components/runfileexporter/internal/metadata"
	"github.com/runspan/runspan/components/runfileexporter/internal/metadatatest"
)

// statusHost remembers what the exporter reports of itself.
type statusHost struct {
	component.Host
	mu       sync.Mutex
	statuses []componentstatus.Status
}

func (h *statusHost) Report(e *componentstatus.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.statuses = append(h.statuses, e.Status())
}

func (h *statusHost) seen() []componentstatus.Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]componentstatus.Status(nil), h.statuses...)
}

func configFor(path string) *Config {
	c := createDefaultConfig().(*Config)
	c.Path = path
	c.LockTimeout = 100 * time.Millisecond
	return c
}

func start(t *testing.T, c *Config) (exporter.Traces, *statusHost, *componenttest.Telemetry) {
	t.Helper()
	tel := componenttest.NewTelemetry()
	t.Cleanup(func() { assert.NoError(t, tel.Shutdown(context.WithoutCancel(t.Context()))) })
	set := exportertest.NewNopSettings(metadata.Type)
	set.TelemetrySettings = tel.NewTelemetrySettings()
	e, err := NewFactory().CreateTraces(t.Context(), set, c)
	require.NoError(t, err)
	host := &statusHost{Host: componenttest.NewNopHost()}
	require.NoError(t, e.Start(t.Context(), host))
	t.Cleanup(func() { assert.NoError(t, e.Shutdown(context.WithoutCancel(t.Context()))) })
	return e, host, tel
}

func traces(names ...string) ptrace.Traces {
	td := ptrace.NewTraces()
	spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for i, name := range names {
		span := spans.AppendEmpty()
		span.SetTraceID(pcommon.TraceID{1})
		span.SetSpanID(pcommon.SpanID{byte(i + 1)})
		span.SetName(name)
	}
	return td
}

// fileNames returns the span names of each line.
func fileNames(t *testing.T, path string) [][]string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var all [][]string
	for line := range strings.Lines(string(data)) {
		td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces([]byte(line))
		require.NoError(t, err)
		var names []string
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					names = append(names, span.Name())
				}
			}
		}
		all = append(all, names)
	}
	return all
}

func sum(t *testing.T, tel *componenttest.Telemetry, name string) int64 {
	t.Helper()
	m, err := tel.GetMetric("otelcol_" + name)
	if err != nil {
		return 0
	}
	var n int64
	for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
		n += p.Value
	}
	return n
}

func TestExport(t *testing.T) {
	for _, durability := range []string{"write", "sync"} {
		t.Run(durability, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "new", "traces.jsonl")
			c := configFor(path)
			c.Durability = durability
			e, _, tel := start(t, c)
			assert.False(t, e.Capabilities().MutatesData)
			assert.Empty(t, fileNames(t, path), "the file is there from the start")

			require.NoError(t, e.ConsumeTraces(t.Context(), traces("a", "b")))
			require.NoError(t, e.ConsumeTraces(t.Context(), ptrace.NewTraces()))
			require.NoError(t, e.ConsumeTraces(t.Context(), traces("c")))
			require.NoError(t, e.ConsumeTraces(t.Context(), traces("c")), "sent again")
			assert.Equal(t, [][]string{{"a", "b"}, {"c"}}, fileNames(t, path))

			assert.EqualValues(t, 2, sum(t, tel, "exporter_run_file_lines"))
			assert.EqualValues(t, 3, sum(t, tel, "exporter_run_file_spans"))
			assert.EqualValues(t, 1, sum(t, tel, "exporter_run_file_duplicates"))
			info, err := os.Stat(path)
			require.NoError(t, err)
			assert.Equal(t, info.Size(), sum(t, tel, "exporter_run_file_bytes"))
			m, err := tel.GetMetric("otelcol_exporter_run_file_write_duration")
			require.NoError(t, err)
			assert.EqualValues(t, 2, m.Data.(metricdata.Histogram[float64]).DataPoints[0].Count)
			if durability == "sync" {
				m, err = tel.GetMetric("otelcol_exporter_run_file_sync_duration")
				require.NoError(t, err)
				assert.EqualValues(t, 2, m.Data.(metricdata.Histogram[float64]).DataPoints[0].Count)
			}
		})
	}
}

func TestSpanTooLongIsPermanent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	c := configFor(path)
	c.MaxLineBytes = minLineBytes
	e, _, tel := start(t, c)
	err := e.ConsumeTraces(t.Context(), traces(strings.Repeat("x", minLineBytes)))
	require.ErrorContains(t, err, "max_line_bytes")
	assert.True(t, consumererror.IsPermanent(err))
	assert.Empty(t, fileNames(t, path))
	metadatatest.AssertEqualExporterRunFileFailures(t, tel, []metricdata.DataPoint[int64]{
		{Attributes: attribute.NewSet(attribute.String("reason", "line_too_long")), Value: 1},
	}, metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars())
}

func TestFolderGoesAndComes(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "folder")
	require.NoError(t, os.Mkdir(folder, 0o700))
	path := filepath.Join(folder, "traces.jsonl")
	c := configFor(path)
	c.CreateDirectory = false
	e, host, tel := start(t, c)
	require.NoError(t, os.RemoveAll(folder))
	var err error
	require.Eventually(t, func() bool {
		err = e.ConsumeTraces(t.Context(), traces(time.Now().String()))
		return err != nil
	}, 5*time.Second, 10*time.Millisecond)
	require.ErrorContains(t, err, folder)
	assert.False(t, consumererror.IsPermanent(err), "worth a retry")
	assert.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError}, host.seen())
	assert.Positive(t, sum(t, tel, "exporter_run_file_failures"))

	require.NoError(t, os.Mkdir(folder, 0o700))
	require.Eventually(t, func() bool {
		return e.ConsumeTraces(t.Context(), traces("after")) == nil
	}, 5*time.Second, 10*time.Millisecond)
	assert.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError, componentstatus.StatusOK}, host.seen())
	assert.Contains(t, fileNames(t, path), []string{"after"})
}

func TestTornBytesAreCounted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(`{"resourceSpans":[`), 0o600))
	_, _, tel := start(t, configFor(path))
	assert.EqualValues(t, len(`{"resourceSpans":[`), sum(t, tel, "exporter_run_file_torn_bytes"))
}

func TestTwoExportersOnOnePath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	start(t, configFor(path))
	second, err := NewFactory().CreateTraces(t.Context(), exportertest.NewNopSettings(metadata.Type), configFor(path))
	require.NoError(t, err)
	err = second.Start(t.Context(), componenttest.NewNopHost())
	require.ErrorContains(t, err, path)
	require.ErrorContains(t, err, "another writer")
	require.NoError(t, second.Shutdown(t.Context()))
}
