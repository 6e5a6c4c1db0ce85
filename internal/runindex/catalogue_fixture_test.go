package runindex

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/runspan/runspan/internal/tracefile"
)

// writer makes lines that no other one is like.
type writer struct {
	random *rand.Rand
	runs   []string // of which the spans are; "" is none
	spans  int      // of a line
}

func newWriter(runs ...string) *writer {
	return &writer{random: rand.New(rand.NewPCG(1, 2)), runs: runs, spans: 5}
}

// line returns one line with its newline.
func (w *writer) line() string {
	td := ptrace.NewTraces()
	for range 1 + w.random.IntN(2) {
		rs := td.ResourceSpans().AppendEmpty()
		resource := rs.Resource().Attributes()
		w.maybe(resource, "run.id", w.runs)
		w.maybe(resource, "service.name", []string{"trainer", "engine", "引擎 \"2\""})
		w.maybe(resource, "k8s.pod.name", []string{"pod-0", "pod-1"})
		w.maybe(resource, "host.name", []string{"host"})
		resource.PutInt("process.pid", 7)
		spans := rs.ScopeSpans().AppendEmpty().Spans()
		for range 1 + w.random.IntN(w.spans) {
			w.fill(spans.AppendEmpty())
		}
	}
	return string(tracefile.AppendTraces(nil, td)) + "\n"
}

func (w *writer) maybe(attrs pcommon.Map, key string, values []string) {
	if i := w.random.IntN(len(values) + 1); i < len(values) && values[i] != "" {
		attrs.PutStr(key, values[i])
	}
}

func (w *writer) fill(span ptrace.Span) {
	var trace pcommon.TraceID
	trace[0] = byte(w.random.IntN(50))
	trace[15] = 1
	span.SetTraceID(trace)
	var id pcommon.SpanID
	binary.BigEndian.PutUint64(id[:], w.random.Uint64())
	span.SetSpanID(id)
	span.SetName("step")
	start := uint64(1_800_000_000_000_000_000 + w.random.IntN(1e9))
	span.SetStartTimestamp(pcommon.Timestamp(start))
	if w.random.IntN(10) > 0 {
		span.SetEndTimestamp(pcommon.Timestamp(start + uint64(w.random.IntN(1e9))))
	}
	if w.random.IntN(5) == 0 {
		span.Status().SetCode(ptrace.StatusCodeError)
	}
	w.maybe(span.Attributes(), "run.id", w.runs)
	w.maybe(span.Attributes(), "service.name", []string{"judger"})
}

func (w *writer) lines(n int) string {
	var text strings.Builder
	for range n {
		text.WriteString(w.line())
	}
	return text.String()
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = f.WriteString(text)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// catalogueOf returns one of files in a new folder, which the test updates.
func catalogueOf(t *testing.T, opts Options) *Catalogue {
	t.Helper()
	c, err := Open(opts)
	require.NoError(t, err)
	c.settle = 50 * time.Millisecond
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return c
}

// lookAtAll updates with a look at all files.
func (c *Catalogue) lookAtAll(t *testing.T) {
	t.Helper()
	c.nextLook = time.Time{}
	c.update(t.Context())
}

// catchUp updates until nothing is left to do, and for as long as a file is doubted.
func catchUp(t *testing.T, c *Catalogue) *Snapshot {
	t.Helper()
	for end := time.Now().Add(4 * c.settle); time.Now().Before(end); time.Sleep(c.settle / 5) {
		c.lookAtAll(t)
	}
	return c.Snapshot()
}

// truth is what a plain reader of the files finds: the same numbers, made with the decoder.
type truth struct {
	runs  map[string]*RunInfo
	lines map[string][]string
	bad   int64
}

func truthOf(t *testing.T, paths ...string) truth {
	t.Helper()
	found := truth{runs: map[string]*RunInfo{}, lines: map[string][]string{}}
	traces := map[string]map[pcommon.TraceID]bool{}
	for _, path := range paths {
		f, err := os.Open(path)
		require.NoError(t, err)
		info, err := f.Stat()
		require.NoError(t, err)
		_, err = tracefile.Scan(context.Background(), f, info.Size(), tracefile.ScanOptions{}, func(line *tracefile.ScannedLine) error {
			if line.Bad != nil {
				found.bad++
				return nil
			}
			of := map[string]bool{}
			for _, rs := range line.Traces.ResourceSpans().All() {
				process := tracefile.ProcessOf(rs.Resource().Attributes())
				one := ptrace.NewTraces()
				rs.CopyTo(one.ResourceSpans().AppendEmpty())
				for s := range tracefile.SpansOf(one) {
					r := found.runs[s.Run]
					if r == nil {
						r = &RunInfo{ID: s.Run}
						found.runs[s.Run], traces[s.Run] = r, map[pcommon.TraceID]bool{}
					}
					r.addSpan(&s, process)
					traces[s.Run][s.TraceID()] = true
					r.Traces = int64(len(traces[s.Run]))
					of[s.Run] = true
				}
			}
			for run := range of {
				found.runs[run].Bytes += line.Bytes
				found.lines[run] = append(found.lines[run], string(line.Data))
			}
			return nil
		})
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	for _, r := range found.runs {
		slices.SortFunc(r.Services, func(a, b ServiceInfo) int { return strings.Compare(a.Service, b.Service) })
		slices.SortFunc(r.Processes, func(a, b ProcessInfo) int {
			return strings.Compare(a.Process+"\x00"+a.Service+"\x00"+a.NamedBy, b.Process+"\x00"+b.Service+"\x00"+b.NamedBy)
		})
	}
	return found
}

func (r *RunInfo) addSpan(s *tracefile.RunSpan, process tracefile.Process) {
	failed := int64(0)
	if s.Status().Code() == ptrace.StatusCodeError {
		failed = 1
	}
	first, last := int64(s.StartTimestamp()), int64(max(s.StartTimestamp(), s.EndTimestamp()))
	if r.First == 0 || first < r.First && first != 0 {
		r.First = first
	}
	r.Last = max(r.Last, last)
	r.Spans++
	r.Errors += failed
	i := slices.IndexFunc(r.Services, func(of ServiceInfo) bool { return of.Service == s.Service })
	if i < 0 {
		i = len(r.Services)
		r.Services = append(r.Services, ServiceInfo{Service: s.Service})
	}
	r.Services[i].Spans++
	r.Services[i].Errors += failed
	i = slices.IndexFunc(r.Processes, func(of ProcessInfo) bool {
		return of.Service == s.Service && of.Process == process.Name && of.NamedBy == process.NamedBy
	})
	if i < 0 {
		i = len(r.Processes)
		r.Processes = append(r.Processes, ProcessInfo{
			Process: process.Name, NamedBy: process.NamedBy, Service: s.Service, First: first,
		})
	}
	p := &r.Processes[i]
	p.Spans++
	p.Errors += failed
	if p.First == 0 || first < p.First && first != 0 {
		p.First = first
	}
	p.Last = max(p.Last, last)
}

// requireTruth compares all that the catalogue says with what a plain reader of the files finds.
func requireTruth(t *testing.T, c *Catalogue, paths ...string) {
	t.Helper()
	want, got := truthOf(t, paths...), c.Snapshot()
	require.Equal(t, StateReady, got.State, got.Reason)
	require.Equal(t, want.bad, got.BadLines.Count, "bad lines")
	runs := map[string]*RunInfo{}
	for _, r := range got.Runs {
		require.Same(t, r, got.Run(r.ID))
		copied := *r
		copied.Version, copied.Changed = 0, time.Time{}
		runs[r.ID] = &copied
	}
	var senders []Sender
	if none := want.runs[""]; none != nil {
		for _, p := range none.Processes {
			senders = append(senders, Sender{Service: p.Service, Process: p.Process, Spans: p.Spans, Last: p.Last})
		}
	}
	require.Equal(t, senders, got.NoRun)
	delete(want.runs, "")
	require.Equal(t, want.runs, runs)
	for run, lines := range want.lines {
		read := linesOf(t, c, run)
		slices.Sort(lines)
		slices.Sort(read)
		require.Equal(t, lines, read, "the lines of %q", run)
	}
}

// linesOf returns the lines of a run.
func linesOf(t *testing.T, c *Catalogue, run string) []string {
	t.Helper()
	var read []string
	for mark := (Mark{}); ; {
		refs, next, reset := c.Lines(run, mark)
		require.False(t, reset)
		if len(refs) == 0 {
			return read
		}
		for _, ref := range refs {
			line, err := c.ReadLine(ref, nil)
			require.NoError(t, err)
			read = append(read, string(line))
		}
		mark = next
	}
}

func traceFile(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "traces.jsonl")
}
