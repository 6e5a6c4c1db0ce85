//go:build linux

// Package catalogue tests the catalogue of runs beside a collector that writes at full speed, rotates, and is
// killed: in the end it knows what is in the files, no more and no less.
package catalogue

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/runspan/runspan/internal/runindex"
	"github.com/runspan/runspan/internal/tracefile"
	"github.com/runspan/runspan/test/e2e/harness"
)

const (
	lives   = 4 // of the collector; all but the last end with a kill
	life    = 1500 * time.Millisecond
	clients = 4
	runs    = 5
)

func TestCatalogueBesideAWriter(t *testing.T) {
	for _, test := range []struct{ name, path, files string }{
		{"one file", "traces.jsonl", "traces.jsonl"},
		{"a file for each run", "{run.id}/traces.jsonl", "*/traces.jsonl"},
	} {
		t.Run(test.name, func(t *testing.T) {
			data := t.TempDir()
			opts := runindex.Options{
				Files: []string{filepath.Join(data, test.files)}, CacheDir: t.TempDir(),
				Warn: func(text string) { t.Log(text) },
			}
			c, stop := run(t, opts)
			assert.Equal(t, runindex.StateWaiting, awaitState(t, c, runindex.StateWaiting).State)
			endpoint := harness.FreePorts(t, 1)[0]
			ctx, end := context.WithCancel(t.Context())
			defer end()
			sent := load(ctx, endpoint)
			for i := range lives {
				collector := start(t, endpoint, filepath.Join(data, test.path))
				time.Sleep(life)
				if i < lives-1 {
					collector.Kill()
					continue
				}
				end()
				<-sent
				assert.Zero(t, collector.Stop(30*time.Second))
			}
			want := truth(t, data)
			require.Len(t, want, runs)
			requireCounts(t, c, want)
			segments := 0
			for _, f := range c.Snapshot().Files {
				if _, closed := tracefile.LiveFile(f.Name); closed {
					segments++
				}
			}
			assert.NotZero(t, segments, "nothing was rotated")
			stop()

			// And after a restart, from the cache.
			c, stop = run(t, opts)
			requireCounts(t, c, want)
			stop()
		})
	}
}

// run returns a catalogue that keeps itself up to date until stop is called.
func run(t *testing.T, opts runindex.Options) (c *runindex.Catalogue, stop func()) {
	t.Helper()
	c, err := runindex.Open(opts)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		c.Run(ctx)
		close(over)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-over
		assert.NoError(t, c.Close())
	})
	t.Cleanup(stop)
	return c, stop
}

func awaitState(t *testing.T, c *runindex.Catalogue, state runindex.State) *runindex.Snapshot {
	t.Helper()
	harness.WaitFor(t, 30*time.Second, "state "+string(state), func() error {
		if s := c.Snapshot(); s.State != state {
			return fmt.Errorf("%s: %s", s.State, s.Reason)
		}
		return nil
	})
	return c.Snapshot()
}

// start starts a collector that closes a file each megabyte.
func start(t *testing.T, endpoint, path string) *harness.Process {
	t.Helper()
	config := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `receivers:
  otlp: {protocols: {http: {endpoint: %q}}}
processors:
  run_id:
exporters:
  run_file: {path: %q, rotation: {max_bytes: 1048576}}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    traces: {receivers: [otlp], processors: [run_id], exporters: [run_file]}
`, endpoint, path), 0o600))
	return harness.Start(t, exec.Command(harness.Binary(t), "--config", config))
}

// load sends requests until ctx ends, to whatever collector is there.
func load(ctx context.Context, endpoint string) (sent <-chan struct{}) {
	var all sync.WaitGroup
	client := &http.Client{Timeout: 5 * time.Second}
	for range clients {
		all.Go(func() {
			for ctx.Err() == nil {
				if err := send(ctx, client, endpoint); err != nil {
					time.Sleep(20 * time.Millisecond) // nobody is there
				}
			}
		})
	}
	over := make(chan struct{})
	go func() {
		all.Wait()
		client.CloseIdleConnections()
		close(over)
	}()
	return over
}

func send(ctx context.Context, client *http.Client, endpoint string) error {
	td := ptrace.NewTraces()
	for range 1 + rand.IntN(2) {
		rs := td.ResourceSpans().AppendEmpty()
		rs.Resource().Attributes().PutStr("run.id", fmt.Sprint("run/", rand.IntN(runs)))
		rs.Resource().Attributes().PutStr("service.name", fmt.Sprint("service ", rand.IntN(3)))
		rs.Resource().Attributes().PutStr("host.name", fmt.Sprint("host-", rand.IntN(3)))
		spans := rs.ScopeSpans().AppendEmpty().Spans()
		for range 1 + rand.IntN(60) {
			span := spans.AppendEmpty()
			span.SetTraceID(pcommon.TraceID{0: byte(rand.IntN(256)), 1: byte(rand.IntN(256)), 15: 1})
			span.SetSpanID(pcommon.SpanID{0: byte(rand.IntN(256)), 1: byte(rand.IntN(256)), 2: byte(rand.IntN(256)), 7: 1})
			span.SetName("step")
			now := time.Now()
			span.SetStartTimestamp(pcommon.NewTimestampFromTime(now.Add(-time.Second)))
			span.SetEndTimestamp(pcommon.NewTimestampFromTime(now))
			span.Attributes().PutStr("text", strings.Repeat("text \"with quotes\" ", rand.IntN(10)))
			if rand.IntN(10) == 0 {
				span.Status().SetCode(ptrace.StatusCodeError)
			}
		}
	}
	body, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+endpoint+"/v1/traces", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// counts are those of a run.
type counts struct {
	spans, errors, bytes int64
	traces               map[pcommon.TraceID]bool
	first, last          int64
}

// truth is what a plain reader finds in the files of a folder.
func truth(t *testing.T, data string) map[string]*counts {
	t.Helper()
	found := map[string]*counts{}
	require.NoError(t, filepath.WalkDir(data, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".jsonl" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for line := range bytes.Lines(text) {
			var d tracefile.Decoder
			td := ptrace.NewTraces()
			_, err := d.Append(td.ResourceSpans(), line)
			require.NoError(t, err, "%s", path)
			of := map[string]bool{}
			for s := range tracefile.SpansOf(td) {
				c := found[s.Run]
				if c == nil {
					c = &counts{traces: map[pcommon.TraceID]bool{}, first: int64(s.StartTimestamp())}
					found[s.Run] = c
				}
				c.spans++
				if s.Status().Code() == ptrace.StatusCodeError {
					c.errors++
				}
				c.traces[s.TraceID()] = true
				c.first, c.last = min(c.first, int64(s.StartTimestamp())), max(c.last, int64(s.EndTimestamp()))
				of[s.Run] = true
			}
			for run := range of {
				found[run].bytes += int64(len(line))
			}
		}
		return nil
	}))
	return found
}

// requireCounts waits until the catalogue says the same as the truth, and has nothing left to read.
func requireCounts(t *testing.T, c *runindex.Catalogue, want map[string]*counts) {
	t.Helper()
	harness.WaitFor(t, 30*time.Second, "the truth", func() error {
		s := c.Snapshot()
		if s.State != runindex.StateReady || len(s.Runs) != len(want) {
			return fmt.Errorf("%s, %d runs", s.State, len(s.Runs))
		}
		for _, r := range s.Runs {
			w := want[r.ID]
			if w == nil || r.Spans != w.spans || r.Errors != w.errors || r.Bytes != w.bytes || r.Traces != int64(len(w.traces)) ||
				r.First != w.first || r.Last != w.last {
				return fmt.Errorf("%+v, want %d spans, %d errors, %d bytes, %d traces", r, w.spans, w.errors, w.bytes, len(w.traces))
			}
		}
		return nil
	})
	assert.Zero(t, c.Snapshot().BadLines.Count)
}
