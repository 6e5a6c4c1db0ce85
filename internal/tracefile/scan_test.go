package tracefile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// scanned is what a test keeps of a line.
type scanned struct {
	number, offset, bytes int64
	spans                 int
	bad                   string
	at                    int64
	lost                  int
}

func scanAll(t *testing.T, data string, opts ScanOptions) ([]scanned, ScanSummary) {
	t.Helper()
	var lines []scanned
	sum, err := Scan(t.Context(), strings.NewReader(data), int64(len(data)), opts, func(l *ScannedLine) error {
		s := scanned{number: l.Number, offset: l.Offset, bytes: l.Bytes, lost: l.Lost}
		if l.Bad != nil {
			s.bad, s.at = l.Bad.Reason, l.Bad.At
		} else {
			s.spans = l.Traces.SpanCount()
			assert.Equal(t, data[l.Offset:l.Offset+l.Bytes-1], string(l.Data))
		}
		lines = append(lines, s)
		return nil
	})
	require.NoError(t, err)
	return lines, sum
}

// oneSpan is a line with one span, without its newline.
func oneSpan(run string) string {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	if run != "" {
		rs.Resource().Attributes().PutStr("run.id", run)
	}
	span := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.SetTraceID(traceID(1))
	span.SetSpanID(spanID(2))
	span.SetName("hello")
	return string(AppendTraces(nil, td))
}

func TestScanTellsEachLineAndItsPlace(t *testing.T) {
	good := oneSpan("a")
	n := int64(len(good)) + 1
	cut := good[:20]
	for _, tc := range []struct {
		name, data string
		want       []scanned
		tail       int64
	}{
		{name: "an empty file"},
		{name: "two lines", data: good + "\n" + good + "\n", want: []scanned{
			{number: 1, bytes: n, spans: 1},
			{number: 2, offset: n, bytes: n, spans: 1},
		}},
		{name: "bytes behind the last newline are no data", data: good + "\n" + cut, want: []scanned{
			{number: 1, bytes: n, spans: 1},
		}, tail: 20},
		{name: "also when they are whole", data: good, tail: n - 1},
		{name: "an empty line", data: "\n" + good + "\n", want: []scanned{
			{number: 1, bytes: 1, bad: BadEmpty},
			{number: 2, offset: 1, bytes: n, spans: 1},
		}},
		{name: "a torn line", data: good + "\n" + cut + "\n", want: []scanned{
			{number: 1, bytes: n, spans: 1},
			{number: 2, offset: n, bytes: 21, bad: BadNotJSON, at: n + 19},
		}},
		{name: "a line glued to a torn one", data: cut + good + "\n", want: []scanned{
			{number: 1, bytes: 20 + n, bad: BadNotJSON, at: 22},
		}},
		{name: "two objects", data: good + good + "\n", want: []scanned{
			{number: 1, bytes: 2*n - 1, bad: BadSeveral, at: n - 1},
		}},
		{name: "zeros", data: "\x00\x00\x00\n", want: []scanned{
			{number: 1, bytes: 4, bad: BadNotJSON},
		}},
		{name: "a text that is not UTF-8", data: strings.Replace(good, "hello", "h\xffllo", 1) + "\n", want: []scanned{
			{number: 1, bytes: n, bad: BadNotUTF8, at: int64(strings.Index(good, "hello")) + 1},
		}},
		{name: "a text with a control character, which the collector's decoder takes", data: strings.Replace(good, "hello", "h\x01llo", 1) + "\n", want: []scanned{
			{number: 1, bytes: n, bad: BadNotJSON, at: int64(strings.Index(good, "hello")) + 1},
		}},
		{name: "JSON of another kind", data: `{"resourceLogs":[]}` + "\n17\n", want: []scanned{
			{number: 1, bytes: 20, bad: BadNotTraces},
			{number: 2, offset: 20, bytes: 3, bad: BadNotTraces, at: 20},
		}},
		{name: "an id of another length", data: strings.Replace(good, `"spanId":"`, `"spanId":"00`, 1) + "\n", want: []scanned{
			{number: 1, bytes: n + 2, bad: BadNotTraces, lost: 1},
		}},
		{name: "a key that nobody knows", data: `{"new":1,` + good[1:] + "\n", want: []scanned{{number: 1, bytes: n + 8, spans: 1, lost: 1}}},
		{name: "resourceSpans of another kind", data: `{"resourceSpans":17}` + "\n", want: []scanned{{number: 1, bytes: 21, bad: BadNotTraces}}},
		{name: "no span", data: `{"resourceSpans":[]}` + "\n", want: []scanned{{number: 1, bytes: 21, bad: BadNoSpans}}},
		{name: "an older key", data: `{"resourceSpans":[{"instrumentationLibrarySpans":[{"spans":[{"name":"x"}]}]}]}` + "\n", want: []scanned{
			{number: 1, bytes: 79, spans: 1},
		}},
		{name: "nested deeper than a decoder's stack", data: `{"resourceSpans":` + strings.Repeat("[", 1<<20) + "\n", want: []scanned{
			{number: 1, bytes: 17 + 1<<20 + 1, bad: BadNotJSON, at: 10000 + 16},
		}},
		{name: "a carriage return before the newline", data: good + "\r\n", want: []scanned{{number: 1, bytes: n + 1, spans: 1}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			lines, sum := scanAll(t, tc.data, ScanOptions{})
			assert.Equal(t, tc.want, lines)
			assert.Equal(t, int64(len(tc.want)), sum.Lines)
			assert.Equal(t, tc.tail, sum.TailBytes)
			assert.Equal(t, int64(len(tc.data)), sum.Bytes+sum.TailBytes)
		})
	}
}

// Lines of all sizes, shorter and longer than what is read at a time, come once and in their order.
func TestScanKeepsTheOrder(t *testing.T) {
	var data strings.Builder
	var want []scanned
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 400 {
		line := strings.Replace(oneSpan("a"), "hello", strings.Repeat("h", random.IntN(20000)), 1)
		if i%100 == 50 {
			line = strings.Replace(oneSpan("a"), "hello", strings.Repeat("h", 3<<20), 1)
		}
		s := scanned{number: int64(i) + 1, offset: int64(data.Len()), bytes: int64(len(line)) + 1, spans: 1}
		if i%100 == 70 {
			line, s.spans, s.bad, s.at = strings.Repeat("x", len(line)), 0, BadNotJSON, s.offset
		}
		data.WriteString(line + "\n")
		want = append(want, s)
	}
	lines, _ := scanAll(t, data.String(), ScanOptions{})
	require.Equal(t, want, lines)
}

// hole is a file of which the middle is one long line, without memory for it.
type hole struct {
	head, tail string
	length     int64
}

func (h hole) ReadAt(p []byte, off int64) (int, error) {
	n := int(min(int64(len(p)), h.length-off))
	copy(p, bytes.Repeat([]byte("x"), n))
	copy(p[:n], h.head[min(off, int64(len(h.head))):])
	if tail := h.length - int64(len(h.tail)) - off; tail < int64(n) {
		copy(p[max(0, tail):n], h.tail[max(0, -tail):])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func TestScanStepsOverALineThatIsTooLong(t *testing.T) {
	good := oneSpan("a") + "\n"
	file := hole{head: good, tail: "\n" + good, length: 100<<20 + 2*int64(len(good)) + 1}
	var lines []scanned
	sum, err := Scan(t.Context(), file, file.length, ScanOptions{}, func(l *ScannedLine) error {
		s := scanned{number: l.Number, offset: l.Offset, bytes: l.Bytes}
		if l.Bad != nil {
			s.bad, s.at = l.Bad.Reason, l.Bad.At
			assert.Nil(t, l.Data)
		}
		lines = append(lines, s)
		return nil
	})
	require.NoError(t, err)
	n := int64(len(good))
	assert.Equal(t, []scanned{
		{number: 1, bytes: n},
		{number: 2, offset: n, bytes: 100<<20 + 1, bad: BadTooLong, at: n},
		{number: 3, offset: n + 100<<20 + 1, bytes: n},
	}, lines)
	assert.Equal(t, ScanSummary{Lines: 3, Bytes: file.length}, sum)
}

// A line of which a part cannot be read is good for what can be; other readers may refuse all of it.
func TestScanTellsWhatOthersRefuse(t *testing.T) {
	good := oneSpan("a")
	unknown := `{"new":1,` + good[1:]
	span := good[strings.Index(good, `{"traceId"`):strings.Index(good, "]}]}]}")]
	invalid := strings.Replace(good, span, span+","+strings.Replace(span, `"spanId":"`, `"spanId":"00`, 1), 1)
	var refused []bool
	data := good + "\n" + unknown + "\n" + invalid + "\n"
	_, err := Scan(t.Context(), strings.NewReader(data), int64(len(data)), ScanOptions{}, func(l *ScannedLine) error {
		require.Nil(t, l.Bad)
		require.Equal(t, 1, l.Traces.SpanCount())
		err := l.Refused()
		refused = append(refused, err != nil)
		if err != nil {
			require.NotContains(t, err.Error(), "hello")
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []bool{false, false, true}, refused)
}

func TestScanLimitIsExact(t *testing.T) {
	good := oneSpan("a") + "\n"
	lines, _ := scanAll(t, good+good, ScanOptions{MaxLineBytes: int64(len(good))})
	assert.Equal(t, []string{"", ""}, []string{lines[0].bad, lines[1].bad})
	lines, _ = scanAll(t, good+good, ScanOptions{MaxLineBytes: int64(len(good)) - 1})
	assert.Equal(t, []string{BadTooLong, BadTooLong}, []string{lines[0].bad, lines[1].bad})
}

type brokenDisk struct{ io.ReaderAt }

func (b brokenDisk) ReadAt(p []byte, off int64) (int, error) {
	if off > 3<<20 {
		return 0, errors.New("the disk is broken")
	}
	return b.ReaderAt.ReadAt(p, off)
}

func TestScanEnds(t *testing.T) {
	data := strings.Repeat(oneSpan("a")+"\n", 30000)
	file, size := strings.NewReader(data), int64(len(data))
	require.Greater(t, size, int64(5<<20))

	t.Run("with an error of the caller", func(t *testing.T) {
		calls := 0
		stop := errors.New("stop")
		_, err := Scan(t.Context(), file, size, ScanOptions{}, func(*ScannedLine) error {
			if calls++; calls == 10 {
				return stop
			}
			return nil
		})
		require.ErrorIs(t, err, stop)
		assert.Equal(t, 10, calls)
	})
	t.Run("with its context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := Scan(ctx, file, size, ScanOptions{}, func(*ScannedLine) error {
			cancel()
			return nil
		})
		require.ErrorIs(t, err, context.Canceled)
	})
	t.Run("with an error of the disk, after what could be read", func(t *testing.T) {
		lines := 0
		_, err := Scan(t.Context(), brokenDisk{file}, size, ScanOptions{}, func(*ScannedLine) error {
			lines++
			return nil
		})
		require.ErrorContains(t, err, "the disk is broken")
		require.ErrorContains(t, err, "reading at byte ")
		assert.Positive(t, lines)
	})
}

// Folders hold tens of thousands of files of one short line, one a run: each takes memory by its size.
func TestScanOfASmallFileTakesLittleMemory(t *testing.T) {
	data := oneSpan("a") + "\n"
	file := strings.NewReader(data)
	const files = 200
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range files {
		_, err := Scan(t.Context(), file, int64(len(data)), ScanOptions{}, func(*ScannedLine) error { return nil })
		require.NoError(t, err)
	}
	runtime.ReadMemStats(&after)
	// The decoder's first block of texts is 16 KiB.
	assert.Less(t, (after.TotalAlloc-before.TotalAlloc)/files, uint64(32<<10), "bytes a file")
}

func TestSpansOfFindsRunAndService(t *testing.T) {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("run.id", "of the resource")
	rs.Resource().Attributes().PutStr("service.name", "driver")
	spans := rs.ScopeSpans().AppendEmpty().Spans()
	spans.AppendEmpty()
	own := spans.AppendEmpty().Attributes()
	own.PutStr("run.id", "own")
	own.PutStr("service.name", "engine")
	spans.AppendEmpty().Attributes().PutStr("run.id", " ") // no valid run id
	spans.AppendEmpty().Attributes().PutInt("run.id", 17)
	spans.AppendEmpty().Attributes().PutEmptyMap("run.id")
	td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()

	var got []string
	for s := range SpansOf(td) {
		got = append(got, s.Run+"/"+s.Service)
	}
	assert.Equal(t, []string{
		"of the resource/driver", "own/engine", "of the resource/driver", "17/driver", "of the resource/driver", "/unknown_service",
	}, got)
}

func TestSplitByRun(t *testing.T) {
	for seed := range uint64(300) {
		g := newGenerator(seed)
		td := g.traces()
		runs := []string{"a", "b", "", "unassigned"}
		for _, rs := range td.ResourceSpans().All() {
			if run := runs[g.IntN(4)]; run != "" {
				rs.Resource().Attributes().PutStr("run.id", run)
			}
			for _, ss := range rs.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					if run := runs[g.IntN(4)]; run != "" && g.IntN(2) == 0 {
						span.Attributes().PutStr("run.id", run)
					}
				}
			}
		}
		want := spansByRun(td)
		got := map[string]int{}
		for _, r := range SplitByRun(td) {
			require.NotZero(t, r.Traces.SpanCount())
			for key, n := range spansByRun(r.Traces) {
				run := r.Run
				if strings.HasPrefix(key, `"" `) {
					run = ""
					require.Equal(t, "unassigned", r.Run)
				}
				require.True(t, strings.HasPrefix(key, fmt.Sprintf("%q ", run)), "in the part of %q: %.80s", run, key)
				got[key] += n
			}
		}
		require.Equal(t, want, got)
	}
}

// spansByRun returns the spans of td, each with its run and all that is around it, as a multiset.
func spansByRun(td ptrace.Traces) map[string]int {
	spans := map[string]int{}
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				one := ptrace.NewTraces()
				rs2 := one.ResourceSpans().AppendEmpty()
				rs.Resource().CopyTo(rs2.Resource())
				rs2.SetSchemaUrl(rs.SchemaUrl())
				ss2 := rs2.ScopeSpans().AppendEmpty()
				ss.Scope().CopyTo(ss2.Scope())
				ss2.SetSchemaUrl(ss.SchemaUrl())
				span.CopyTo(ss2.Spans().AppendEmpty())
				for s := range SpansOf(one) {
					spans[fmt.Sprintf("%q %s", s.Run, AppendTraces(nil, one))]++
				}
			}
		}
	}
	return spans
}

func TestSalvage(t *testing.T) {
	a, b := oneSpan("a"), oneSpan("b")
	inText := oneSpan(`{"resourceSpans":[`)
	for _, tc := range []struct {
		name, data string
		want       []string
	}{
		{"nothing", "", nil},
		{"torn", a[:50], nil},
		{"two on a line", a + b, []string{a, b}},
		{"something between", a + "x" + b, []string{a, b}},
		{"behind a torn one", a[:50] + b, []string{b}},
		{"behind one torn in its first bytes", a[:8] + b, []string{b}},
		{"behind one torn in a text", a[:strings.Index(a, "hello")+2] + b, []string{b}},
		{"before a torn one", a + b[:50], []string{a}},
		{"behind zeros", "\x00\x00\x00\x00" + a, []string{a}},
		{"the bytes of a start within a text", "x" + inText, []string{inText}},
		{"without a span", `x{"resourceSpans":[]}`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, piece := range Salvage([]byte(tc.data)) {
				got = append(got, string(piece))
			}
			assert.Equal(t, tc.want, got)
		})
	}
}

// FuzzScan holds what is true for any file: the lines lie side by side and fill it up to the last
// newline, their data is the file's, and good lines are good for a strict reader.
func FuzzScan(f *testing.F) {
	a := oneSpan("a")
	f.Add([]byte(a+"\n"+a[:40]+"\n"), uint16(1000))
	f.Add([]byte(a+a+"\n\n"), uint16(10))
	f.Fuzz(func(t *testing.T, data []byte, limit uint16) {
		next := int64(0)
		sum, err := Scan(t.Context(), bytes.NewReader(data), int64(len(data)), ScanOptions{MaxLineBytes: int64(limit)}, func(l *ScannedLine) error {
			require.Equal(t, next, l.Offset)
			next += l.Bytes
			text := data[l.Offset : l.Offset+l.Bytes-1]
			require.NotContains(t, string(text), "\n")
			require.Equal(t, byte('\n'), data[next-1])
			if l.Bad == nil {
				require.Equal(t, text, l.Data)
				require.True(t, json.Valid(text) && utf8.Valid(text))
				require.Positive(t, l.Traces.SpanCount())
			} else {
				require.LessOrEqual(t, l.Bad.At, next)
				for _, piece := range Salvage(l.Data) {
					_, _, bad := scanDecode(new(Decoder), piece)
					require.Nil(t, bad)
				}
			}
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, next, sum.Bytes)
		require.Equal(t, int64(len(data))-next, sum.TailBytes)
		require.NotContains(t, string(data[next:]), "\n")
	})
}
