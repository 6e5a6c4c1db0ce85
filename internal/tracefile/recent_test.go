package tracefile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// named is a request of one span.
func named(name string) ptrace.Traces {
	td := ptrace.NewTraces()
	td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty().SetName(name)
	return td
}

// putTraces writes as the exporter does.
func putTraces(t *testing.T, a *Appender, td ptrace.Traces) {
	t.Helper()
	var e Encoder
	lines, err := e.Encode(td)
	require.NoError(t, err)
	_, err = a.AppendOf(t.Context(), td, &e, lines...)
	require.NoError(t, err)
}

// namesOf are the spans of a batch, wherever they came from.
func namesOf(t *testing.T, b *TailBatch) (names []string) {
	t.Helper()
	tds := b.Traces
	if tds == nil {
		all := ptrace.NewTraces()
		var d Decoder
		for line := range bytes.Lines(b.Data) {
			_, err := d.Append(all.ResourceSpans(), line)
			require.True(t, err == nil || errors.Is(err, ErrNotTraces), "%v", err)
		}
		tds = append(tds, all)
	}
	for _, td := range tds {
		for _, rs := range td.ResourceSpans().All() {
			for _, span := range rs.ScopeSpans().At(0).Spans().All() {
				names = append(names, span.Name())
			}
		}
	}
	return names
}

// followed is a writer and a reader of one file in one process, and a first line that was read.
func followed(t *testing.T) (*tailFixture, *Appender) {
	t.Helper()
	x := newTailFixture(t, nil)
	a := mustOpen(t, testOptions(x.path("traces.jsonl")))
	putTraces(t, a, named("first"))
	b := x.batch(t)
	require.Equal(t, []string{"first"}, namesOf(t, b))
	assert.Nil(t, b.Traces, "nobody read when it was written")
	b.Delivered()
	return x, a
}

func TestRecent_NewestLinesFromMemory(t *testing.T) {
	x, a := followed(t)
	want := []string{}
	for i := range 10 {
		want = append(want, fmt.Sprint("span ", i))
		putTraces(t, a, named(want[i]))
	}
	var got []string
	for len(got) < 10 {
		b := x.batch(t)
		require.NotNil(t, b.Traces)
		assert.True(t, b.Traces[0].IsReadOnly())
		got = append(got, namesOf(t, b)...)
		b.Delivered()
		b.Release()
		assert.Nil(t, b.Traces)
	}
	assert.Equal(t, want, got)
	assert.Zero(t, a.recent.bytes, "what every reader has is kept no longer")
	// After a restart of the reader they come from the file.
	x.Close()
	x.set.Places = ""
	x.Tail = NewTail(x.set)
	b := x.batch(t)
	assert.Nil(t, b.Traces)
	assert.Equal(t, append([]string{"first"}, want...), namesOf(t, b))
}

// A line alone in its batch is handed over without a copy, small ones together.
func TestRecent_LongLinesAlone(t *testing.T) {
	x, a := followed(t)
	long := strings.Repeat("x", recentAloneBytes)
	for _, name := range []string{"a", "b", long, long + "2", "c"} {
		putTraces(t, a, named(name))
	}
	for _, want := range [][]string{{"a", "b"}, {long}, {long + "2"}, {"c"}} {
		b := x.batch(t)
		require.Len(t, b.Traces, len(want))
		require.Equal(t, want, namesOf(t, b))
	}
}

// Where the file does not hold what memory says, the file is right.
func TestRecent_TheFileDecides(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, path string){
		"another file": func(t *testing.T, path string) {
			t.Helper()
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.WriteFile(path, bytes.Replace(content, []byte("second"), []byte("SECOND"), 1), 0o600))
		},
		"a shorter file": func(t *testing.T, path string) {
			t.Helper()
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.NoError(t, os.Truncate(path, info.Size()-1))
			time.Sleep(5 * time.Millisecond)
		},
	} {
		t.Run(name, func(t *testing.T) {
			x, a := followed(t)
			putTraces(t, a, named("second"))
			spoil(t, x.path("traces.jsonl"))
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			b, err := x.Next(ctx)
			if name == "a shorter file" {
				require.Error(t, err, "the line has no end")
				return
			}
			require.NoError(t, err)
			require.Nil(t, b.Traces)
			assert.Equal(t, []string{"SECOND"}, namesOf(t, b))
		})
	}
}

// A fault of the disk ends what is remembered: a repair may have changed the offsets.
func TestRecent_ForgottenAtARepair(t *testing.T) {
	x := newTailFixture(t, nil)
	fs := &faultFS{}
	opts := testOptions(x.path("traces.jsonl"))
	opts.fs = fs
	a := mustOpen(t, opts)
	putTraces(t, a, named("first"))
	x.deliver(t)
	putTraces(t, a, named("second"))
	require.Len(t, a.recent.lines, 1)
	fs.set(func(fs *faultFS) {
		fs.write = func(f *os.File, line []byte) (int, error) {
			n, _ := f.Write(line[:5])
			return n, os.ErrPermission
		}
	})
	require.Error(t, put(t.Context(), a, []byte("third\n")))
	fs.set(func(fs *faultFS) { fs.write = nil })
	soon(t, func() bool { return put(t.Context(), a, []byte("fourth\n")) == nil }, "the repair")
	require.Empty(t, a.recent.lines)
	b := x.batch(t)
	assert.Nil(t, b.Traces)
	assert.Contains(t, string(b.Data), `"second"`)
}

// Memory is bounded. A reader that falls behind finds everything in the file, costs no memory meanwhile,
// and gets the newest lines from memory again when it is near the end.
func TestRecent_Bounds(t *testing.T) {
	x, a := followed(t)
	text := strings.Repeat("x", recentFileBytes/10)
	write := func(from, to int) {
		for i := from; i < to; i++ {
			putTraces(t, a, named(fmt.Sprint(i, text)))
			recent.mu.Lock()
			require.LessOrEqual(t, a.recent.bytes, int64(recentFileBytes))
			recent.mu.Unlock()
		}
	}
	write(0, 9)
	require.Len(t, a.recent.lines, 9)
	write(9, 40)
	require.Empty(t, a.recent.lines, "nobody takes them")
	next, fromMemory := 0, 0
	read := func(to int) {
		for next < to {
			b := x.batch(t)
			for _, name := range namesOf(t, b) {
				require.True(t, strings.HasPrefix(name, fmt.Sprint(next, "x")), name[:5])
				next++
			}
			fromMemory += len(b.Traces)
			b.Delivered()
			b.Release()
		}
	}
	read(40)
	require.Zero(t, fromMemory)
	write(40, 45)
	read(45)
	assert.Equal(t, 5, fromMemory)
	x.Close()
	assert.False(t, a.recent.followed.Load())
	assert.Zero(t, a.recent.bytes)
	x.Tail = NewTail(x.set) // for the cleanup
}

// A line of another program shifts all that follow: the readers of this process and of others must
// agree with the file, and the writer must leave whole lines alone.
func TestRecent_AnotherProgramAppends(t *testing.T) {
	for name, foreign := range map[string]string{
		"the same length":  string(AppendTraces(nil, named("span 0"))),
		"another length":   string(AppendTraces(nil, named("a longer name than that"))),
		"no line of ours":  `{"resourceMetrics":[]}`,
		"truncated before": "",
	} {
		t.Run(name, func(t *testing.T) {
			x, a := followed(t)
			path := x.path("traces.jsonl")
			observer := &counts{}
			a.obs = observer
			got := map[string]int{}
			for i := range 40 {
				if i%10 == 5 {
					if foreign == "" {
						require.NoError(t, os.Truncate(path, 0))
					} else {
						x.append(t, "traces.jsonl", foreign+"\n")
					}
				}
				putTraces(t, a, named(fmt.Sprint("span ", i)))
				if i%2 == 0 {
					x.deliverSpans(t, got, 5*time.Millisecond) // before the writer looks at the file
				}
				if i%7 == 0 {
					time.Sleep(checkEvery / 4)
				}
			}
			time.Sleep(2 * checkEvery) // a check, and the repair that it asks for
			x.deliverSpans(t, got, time.Second)
			inFile := map[string]int{}
			var d Decoder
			for line := range strings.Lines(content(t, path)) {
				td := ptrace.NewTraces()
				if _, err := d.Append(td.ResourceSpans(), []byte(line)); err != nil {
					continue // the foreign one
				}
				inFile[td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Name()]++
			}
			assert.NoFileExists(t, path+".torn")
			if foreign == "" {
				return // what was cut off is gone; what is there must be whole lines
			}
			delete(got, "first") // read before
			delete(inFile, "first")
			assert.Equal(t, inFile, got)
			observer.mu.Lock()
			defer observer.mu.Unlock()
			assert.Zero(t, observer.lost)
			assert.Zero(t, observer.moved)
		})
	}
}

// deliverSpans counts the names of the spans of what is to be read, until nothing came for a while.
func (x *tailFixture) deliverSpans(t *testing.T, names map[string]int, pause time.Duration) {
	t.Helper()
	for {
		ctx, cancel := context.WithTimeout(t.Context(), pause)
		b, err := x.Next(ctx)
		cancel()
		if err != nil {
			return
		}
		for _, name := range namesOf(t, b) {
			names[name]++
		}
		b.Delivered()
		b.Release()
	}
}

// Two readers get every line each, once, while several clients write and one reader restarts.
func TestRecent_EveryReaderGetsAll(t *testing.T) {
	x, a := followed(t)
	y := newTailFixture(t, func(set *TailSettings) { set.Include = x.set.Include })
	const clients, each = 4, 300
	var writers sync.WaitGroup
	for c := range clients {
		writers.Go(func() {
			for i := range each {
				putTraces(t, a, named(fmt.Sprint(c, "-", i, strings.Repeat("x", i*i%200000))))
			}
		})
	}
	read := func(x *tailFixture, want int) map[string]int {
		seen := map[string]int{}
		memory := 0
		for n := 0; n < want; {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			b, err := x.Next(ctx)
			cancel()
			if err != nil {
				t.Errorf("after %d spans: %v", n, err)
				break
			}
			for _, name := range namesOf(t, b) {
				seen[name]++
				n++
			}
			memory += len(b.Traces)
			b.Delivered()
			b.Release()
		}
		assert.Positive(t, memory)
		return seen
	}
	var readers sync.WaitGroup
	var first, second map[string]int
	readers.Go(func() { first = read(x, clients*each) })
	readers.Go(func() { second = read(y, clients*each+1) })
	writers.Wait()
	readers.Wait()
	assert.Len(t, first, clients*each)
	assert.Len(t, second, clients*each+1)
}

// What the line does not mean exactly is read from the file.
func TestEncoder_Exact(t *testing.T) {
	deep := ptrace.NewTraces()
	v := deep.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty().Attributes().PutEmpty("deep")
	for range maxDepth + 1 {
		v = v.SetEmptySlice().AppendEmpty()
	}
	var u ptrace.ProtoUnmarshaler
	old, err := u.UnmarshalTraces(deprecatedTraces())
	require.NoError(t, err)
	var two Encoder
	two.MaxLineBytes = 300
	many := named("a")
	for range 10 {
		many.ResourceSpans().At(0).ScopeSpans().At(0).Spans().AppendEmpty().SetName("b")
	}
	for name, tt := range map[string]struct {
		e    *Encoder
		td   ptrace.Traces
		want bool
	}{
		"plain":      {&Encoder{}, named("中文\n"), true},
		"bad UTF-8":  {&Encoder{}, named("\xff"), false},
		"deep":       {&Encoder{}, deep, false},
		"old scopes": {&Encoder{}, old, false},
		"split":      {&two, many, false},
		"nothing":    {&Encoder{}, ptrace.NewTraces(), false},
	} {
		_, err := tt.e.Encode(tt.td)
		require.NoError(t, err, name)
		assert.Equal(t, tt.want, tt.e.Exact(), name)
	}
}

// A writer that is found through a link is the same writer.
func TestRecent_ThroughALink(t *testing.T) {
	x := newTailFixture(t, nil)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(x.dir, link))
	a := mustOpen(t, testOptions(filepath.Join(link, "traces.jsonl")))
	putTraces(t, a, named("first"))
	x.deliver(t)
	putTraces(t, a, named("second"))
	b := x.batch(t)
	assert.NotNil(t, b.Traces)
}
