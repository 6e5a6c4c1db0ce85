package runfilereceiver

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/runspan/runspan/components/runfilereceiver/internal/metadata"
)

// quick is timing for tests: the same order of times, a hundredth of their length.
var quick = timing{
	firstPause: time.Millisecond, longestPause: 20 * time.Millisecond,
	stall: 200 * time.Millisecond,
	quiet: 30 * time.Millisecond, drain: time.Second,
	rereads: []time.Duration{5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 20 * time.Millisecond, 20 * time.Millisecond},
	save:    10 * time.Millisecond, settle: 30 * time.Millisecond,
	giveUp: time.Second, check: time.Millisecond,
}

// backend is what a pipeline ends in. It remembers the names of the spans that it took.
type backend struct {
	mu      sync.Mutex
	taken   map[string]int
	calls   int
	now     int // calls going on
	most    int // of them at once
	mutates bool

	// answer decides on a call before its spans are taken. Default: nil.
	answer func(ctx context.Context, td ptrace.Traces) error
}

func newBackend() *backend { return &backend{taken: map[string]int{}} }

func (b *backend) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: b.mutates}
}

func (b *backend) ConsumeTraces(ctx context.Context, td ptrace.Traces) error {
	b.mu.Lock()
	b.calls++
	b.now++
	b.most = max(b.most, b.now)
	answer := b.answer
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.now--
	}()
	if answer != nil {
		if err := answer(ctx, td); err != nil {
			return err
		}
	}
	b.take(td)
	return nil
}

func (b *backend) take(td ptrace.Traces) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range names(td) {
		b.taken[name]++
	}
}

func (b *backend) set(answer func(ctx context.Context, td ptrace.Traces) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = answer
}

func (b *backend) has(n int) func() bool {
	return func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.taken) >= n
	}
}

func (b *backend) count(name string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.taken[name]
}

func (b *backend) asked() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls
}

func names(td ptrace.Traces) (names []string) {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				names = append(names, span.Name())
			}
		}
	}
	return names
}

// fixture is a receiver on a folder of the test.
type fixture struct {
	*runFileReceiver
	backend   *backend
	telemetry *componenttest.Telemetry
	logs      *observer.ObservedLogs
	dir       string
	cfg       *Config
	stopped   bool
}

func newFixture(t *testing.T, change func(*Config, *timing)) *fixture {
	t.Helper()
	dir := t.TempDir()
	cfg := createDefaultConfig().(*Config)
	cfg.Include = []string{filepath.Join(dir, "traces.jsonl")}
	cfg.Places = filepath.Join(dir, "places")
	cfg.PollInterval = 2 * time.Millisecond
	times := quick
	if change != nil {
		change(cfg, &times)
	}
	require.NoError(t, cfg.Validate())
	core, logs := observer.New(zap.DebugLevel)
	x := &fixture{backend: newBackend(), telemetry: componenttest.NewTelemetry(), logs: logs, dir: filepath.Dir(cfg.Include[0]), cfg: cfg}
	set := receivertest.NewNopSettings(metadata.Type)
	set.ID = component.NewIDWithName(metadata.Type, "test") // not a random one: it names the places
	set.TelemetrySettings = x.telemetry.NewTelemetrySettings()
	set.Logger = zap.New(core)
	x.runFileReceiver = x.build(t, set, times)
	t.Cleanup(func() {
		x.stop(t)
		require.NoError(t, x.telemetry.Shutdown(context.Background()))
	})
	return x
}

func (x *fixture) build(t *testing.T, set receiver.Settings, times timing) *runFileReceiver {
	t.Helper()
	r, err := newRunFileReceiver(x.cfg, set, x.backend, times)
	require.NoError(t, err)
	return r
}

func (x *fixture) start(t *testing.T) {
	t.Helper()
	require.NoError(t, x.Start(t.Context(), componenttest.NewNopHost()))
}

func (x *fixture) stop(t *testing.T) {
	t.Helper()
	if x.stopped {
		return
	}
	x.stopped = true
	require.NoError(t, x.Shutdown(context.Background()))
}

// again returns a fixture on the same folder, as after a restart.
func (x *fixture) again(t *testing.T) *fixture {
	t.Helper()
	return newFixture(t, func(cfg *Config, _ *timing) { *cfg = *x.cfg })
}

func (x *fixture) write(t *testing.T, lines ...string) {
	t.Helper()
	require.NoError(t, x.tryWrite(lines...))
}

// tryWrite is write for other goroutines than the test's.
func (x *fixture) tryWrite(lines ...string) error {
	f, err := os.OpenFile(filepath.Join(x.dir, "traces.jsonl"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(strings.Join(lines, "\n") + "\n")
	return err
}

// value returns the sum of a metric over the data points with the reason, if one is given.
func (x *fixture) value(t *testing.T, name, reason string) int64 {
	t.Helper()
	got, err := x.telemetry.GetMetric("otelcol_receiver_run_file_" + name)
	if err != nil {
		return 0 // nothing recorded
	}
	var points []metricdata.DataPoint[int64]
	switch data := got.Data.(type) {
	case metricdata.Sum[int64]:
		points = data.DataPoints
	case metricdata.Gauge[int64]:
		points = data.DataPoints
	default:
		t.Fatalf("%s is a %T", name, data)
	}
	var sum int64
	for _, p := range points {
		if v, _ := p.Attributes.Value("receiver"); v.AsString() != x.name.String() {
			t.Fatalf("%s has no receiver: %v", name, p.Attributes)
		}
		if v, _ := p.Attributes.Value("reason"); v.AsString() == reason {
			sum += p.Value
		}
	}
	return sum
}

// line returns a line with n spans, named from first on, of one run and service.
func line(tb testing.TB, run, service string, first, n int) string {
	tb.Helper()
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", service)
	rs.Resource().Attributes().PutStr("run.id", run)
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("scope")
	for i := first; i < first+n; i++ {
		span := ss.Spans().AppendEmpty()
		span.SetName(fmt.Sprintf("span %d", i))
		var id [8]byte
		binary.BigEndian.PutUint64(id[:], uint64(i+1))
		span.SetSpanID(id)
		span.SetTraceID(pcommon.TraceID{1})
		span.SetStartTimestamp(pcommon.Timestamp(1e18 + i*1e9))
		span.SetEndTimestamp(pcommon.Timestamp(1e18 + i*1e9 + 1))
		span.Attributes().PutStr("run.id", run)
	}
	data, err := (&ptrace.JSONMarshaler{}).MarshalTraces(td)
	require.NoError(tb, err)
	return string(data)
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, 10*time.Second, time.Millisecond, what)
}
