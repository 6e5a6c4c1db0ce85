package tracefile

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"
)

// factsOfDecoder is the truth about a line.
func factsOfDecoder(line []byte) (Facts, *BadLineError) {
	var d Decoder
	var facts Facts
	td, _, bad := scanDecode(&d, line)
	if bad == nil {
		facts.decoded(td)
	}
	return facts, bad
}

// checkFacts compares each fast reader with the decoder, with readers that have seen other lines before.
func checkFacts(t *testing.T, readers *FactsReader, line []byte) (own, foreign bool) {
	t.Helper()
	want, wantBad := factsOfDecoder(bytes.Clone(line))
	withNewline := append(bytes.Clone(line), "\n\"}}]garbage behind a line"...)[:len(line)+1]
	for range 2 { // the second time with what the first has left
		var facts Facts
		own = readers.own.read(&facts, &readers.names, withNewline)
		if own {
			require.Nil(t, wantBad, "%q", line)
			require.Equal(t, want, facts, "%q", line)
		}
		facts = Facts{}
		foreign = readers.foreign.read(&facts, &readers.names, withNewline)
		if foreign {
			require.Nil(t, wantBad, "%q", line)
			require.Equal(t, want, facts, "%q", line)
		}
		got, bad := readers.Read(line)
		require.Equal(t, wantBad, bad, "%q", line)
		if bad == nil {
			require.Equal(t, want.Spans, got.Spans, "%q", line)
			require.Equal(t, want.Processes, got.Processes, "%q", line)
		}
	}
	return own, foreign
}

func goldenLines(tb testing.TB) [][]byte {
	tb.Helper()
	golden, err := filepath.Glob("testdata/encode/*.json*")
	require.NoError(tb, err)
	var lines [][]byte
	for _, file := range golden {
		line, err := os.ReadFile(file)
		require.NoError(tb, err)
		lines = append(lines, bytes.TrimSuffix(line, []byte("\n")))
	}
	for seed := range uint64(300) {
		td := newGenerator(seed).traces()
		nameRuns(td, rand.New(rand.NewPCG(seed, 1)))
		if seed%3 > 0 {
			withoutRareFields(td)
		}
		lines = append(lines, AppendTraces(nil, td))
	}
	return lines
}

// nameRuns puts attributes that are facts here and there, of every kind of value.
func nameRuns(td ptrace.Traces, random *rand.Rand) {
	keys := []string{
		"run.id", "service.name", "process.pid", "k8s.pod.name", "host.name", "service.instance.id", "run.i", "run.id ",
	}
	values := []string{"a", "b", "", " ", "a\x01", "引擎", "quote \"", "new\nline", "é"}
	kinds := 8
	if random.IntN(4) > 0 {
		kinds = 1 // with numbers and texts only
	}
	put := func(attrs pcommon.Map) {
		for range random.IntN(4) {
			key := keys[random.IntN(len(keys))]
			kind := random.IntN(kinds)
			if kinds == 1 {
				kind = 7 * min(1, random.IntN(8))
			}
			switch kind {
			case 0:
				attrs.PutInt(key, random.Int64()-1<<62)
			case 1:
				attrs.PutBool(key, true)
			case 2:
				attrs.PutDouble(key, 1.5)
			case 3:
				attrs.PutEmptySlice(key).AppendEmpty().SetStr("in a list")
			default:
				attrs.PutStr(key, values[random.IntN(len(values))])
			}
		}
	}
	for _, rs := range td.ResourceSpans().All() {
		put(rs.Resource().Attributes())
		for _, ss := range rs.ScopeSpans().All() {
			put(ss.Scope().Attributes())
			for _, span := range ss.Spans().All() {
				put(span.Attributes())
			}
		}
	}
}

// withoutRareFields takes away what the fast readers leave to the decoder.
func withoutRareFields(td ptrace.Traces) {
	for _, rs := range td.ResourceSpans().All() {
		entity.ResourceEntityRefs(rs.Resource()).RemoveIf(func(entity.EntityRef) bool { return true })
		withoutEmptyKeys(rs.Resource().Attributes())
		for _, ss := range rs.ScopeSpans().All() {
			withoutEmptyKeys(ss.Scope().Attributes())
			for _, span := range ss.Spans().All() {
				withoutEmptyKeys(span.Attributes())
				for _, event := range span.Events().All() {
					withoutEmptyKeys(event.Attributes())
				}
				for _, link := range span.Links().All() {
					withoutEmptyKeys(link.Attributes())
				}
			}
		}
	}
}

func withoutEmptyKeys(m pcommon.Map) {
	m.RemoveIf(func(key string, _ pcommon.Value) bool { return key == "" })
	for _, v := range m.All() {
		withoutEmptyKeysIn(v)
	}
}

func withoutEmptyKeysIn(v pcommon.Value) {
	switch v.Type() {
	case pcommon.ValueTypeMap:
		withoutEmptyKeys(v.Map())
	case pcommon.ValueTypeSlice:
		for _, item := range v.Slice().All() {
			withoutEmptyKeysIn(item)
		}
	default:
	}
}

func TestFactsOfGoldenLines(t *testing.T) {
	var readers FactsReader
	own, foreign, canonical := 0, 0, 0 // so many lines
	for _, line := range goldenLines(t) {
		fastOwn, fastForeign := checkFacts(t, &readers, line)
		if fastOwn {
			own++
		}
		if fastForeign {
			foreign++
		}
		if isCanonical(line) && bytes.Contains(line, []byte(`"spans"`)) {
			canonical++
		}
	}
	// The rest has facts that are no texts.
	require.Greater(t, canonical, 100)
	assert.Greater(t, own, canonical*2/3)
	assert.Greater(t, foreign, canonical*2/3)
	for name, td := range corpora(t) {
		fast, _ := checkFacts(t, &readers, AppendTraces(nil, td))
		assert.True(t, fast, name)
	}
}

// foreignForm is a line as another writer may write it: keys in another order and in the other case, white
// space, numbers as numbers.
func foreignForm(tb testing.TB, random *rand.Rand, line []byte) []byte {
	tb.Helper()
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	var object any
	require.NoError(tb, decoder.Decode(&object))
	f := foreignWriter{random: random, snake: random.IntN(2) == 0, spaces: random.IntN(2) == 0, ascii: random.IntN(2) == 0}
	f.write(tb, object, "")
	return f.out
}

type foreignWriter struct {
	random               *rand.Rand
	snake, spaces, ascii bool
	out                  []byte
}

func (f *foreignWriter) space() {
	if f.spaces {
		f.out = append(f.out, []string{"", " ", "\t", " \r "}[f.random.IntN(4)]...)
	}
}

func (f *foreignWriter) write(tb testing.TB, value any, key string) {
	tb.Helper()
	f.space()
	switch value := value.(type) {
	case map[string]any:
		keys := slices.Collect(maps.Keys(value))
		slices.Sort(keys)
		f.random.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		f.out = append(f.out, '{')
		for i, key := range keys {
			if i > 0 {
				f.out = append(f.out, ',')
			}
			f.space()
			f.out = strconv.AppendQuote(f.out, f.cased(key))
			f.space()
			f.out = append(f.out, ':')
			f.write(tb, value[key], key)
		}
		f.space()
		f.out = append(f.out, '}')
	case []any:
		f.out = append(f.out, '[')
		for i, item := range value {
			if i > 0 {
				f.out = append(f.out, ',')
			}
			f.write(tb, item, "")
		}
		f.space()
		f.out = append(f.out, ']')
	case string:
		if (key == "intValue" || strings.HasSuffix(key, "UnixNano")) && f.random.IntN(2) == 0 {
			f.out = append(f.out, value...)
			break
		}
		if strings.HasSuffix(key, "Id") && f.random.IntN(2) == 0 {
			value = strings.ToUpper(value)
		}
		text, err := json.Marshal(value)
		require.NoError(tb, err)
		if f.ascii {
			text = []byte(strconv.QuoteToASCII(value))
			if !json.Valid(text) { // which has escapes that JSON does not
				text, _ = json.Marshal(value)
			}
		}
		f.out = append(f.out, text...)
	default:
		text, err := json.Marshal(value)
		require.NoError(tb, err)
		f.out = append(f.out, text...)
	}
	f.space()
}

func (f *foreignWriter) cased(key string) string {
	if !f.snake {
		return key
	}
	var snake []byte
	for _, c := range []byte(key) {
		if c >= 'A' && c <= 'Z' {
			snake = append(snake, '_')
			c |= 0x20
		}
		snake = append(snake, c)
	}
	return string(snake)
}

func TestFactsOfForeignLines(t *testing.T) {
	var readers FactsReader
	random := rand.New(rand.NewPCG(3, 4))
	fast, all := 0, 0
	for _, line := range goldenLines(t) {
		own, _ := checkFacts(t, &readers, line)
		line := foreignForm(t, random, line)
		_, foreign := checkFacts(t, &readers, line)
		if own {
			all++
			if foreign {
				fast++
			}
		}
	}
	assert.Equal(t, all, fast, "lines with nothing rare in them")
}

// Lines of every kind in which some bytes were changed, doubled, taken away or cut off.
func TestFactsOfChangedLines(t *testing.T) {
	const changes = "\"\\{}[]:,0123456789abcdefnrtuE -+._/\x00\x7f\xff\xe4"
	var readers FactsReader
	random := rand.New(rand.NewPCG(5, 6))
	for i, line := range goldenLines(t) {
		if i%2 == 0 {
			line = foreignForm(t, random, line)
		}
		for range 8 {
			changed := bytes.Clone(line)
			for range 1 + random.IntN(3) {
				at := random.IntN(len(changed) + 1)
				switch random.IntN(5) {
				case 0, 1:
					if at < len(changed) {
						changed[at] = changes[random.IntN(len(changes))]
					}
				case 2:
					changed = slices.Insert(changed, at, changes[random.IntN(len(changes))])
				case 3:
					end := min(len(changed), at+random.IntN(40))
					changed = slices.Delete(changed, at, end)
				case 4:
					end := min(len(changed), at+random.IntN(200))
					changed = slices.Insert(changed, at, bytes.Clone(changed[at:end])...)
				}
			}
			checkFacts(t, &readers, changed)
		}
	}
}

// FuzzFacts compares the fast readers with the decoder on any bytes.
func FuzzFacts(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 1))
	for i, line := range goldenLines(f) {
		if f.Add(line); i%4 == 0 {
			f.Add(foreignForm(f, random, line))
		}
	}
	var readers FactsReader
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.IndexByte(line, '\n') >= 0 {
			return
		}
		checkFacts(t, &readers, line)
	})
}

// BenchmarkFacts sets the fast readers beside the decoder on each corpus.
func BenchmarkFacts(b *testing.B) {
	requests := corpora(b)
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		line := append(AppendTraces(nil, requests[name]), "\n                "...)
		line = line[:len(line)-16]
		var readers FactsReader
		b.Run(name+"/own", func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				if !readers.own.read(&readers.facts, &readers.names, line) {
					b.Fatal("not read")
				}
			}
		})
		b.Run(name+"/foreign", func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				if !readers.foreign.read(&readers.facts, &readers.names, line) {
					b.Fatal("not read")
				}
			}
		})
		b.Run(name+"/decoder", func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				if _, bad := factsOfDecoder(line[:len(line)-1]); bad != nil {
					b.Fatal(bad)
				}
			}
		})
	}
}
