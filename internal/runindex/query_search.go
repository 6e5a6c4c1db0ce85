package runindex

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/runspan/runspan/internal/tracefile"
)

const (
	// searchPatience is how long a request searches the lines of a run; the next one goes on there.
	searchPatience = 2 * time.Second

	// searchesKept is for how many texts it is remembered which traces were found.
	searchesKept = 8
)

// searchCache keeps the last searches of a run, so that lines are searched once for each text.
type searchCache struct {
	mu       sync.Mutex
	restarts uint64
	last     []*search // the latest first
}

// search is how far a text was looked for. Attributes are not in memory: the lines are read again.
type search struct {
	text  string
	mu    sync.Mutex
	lines int      // so many are done
	found []uint64 // a bit for each trace
}

// searchResult is what was found.
type searchResult struct {
	found    []uint64
	complete bool
}

func (r *searchResult) has(trace uint32) bool {
	at := int(trace / 64)
	return at < len(r.found) && r.found[at]&(1<<(trace%64)) != 0
}

func (s *search) add(trace uint32) {
	for int(trace/64) >= len(s.found) {
		s.found = append(s.found, 0)
	}
	s.found[trace/64] |= 1 << (trace % 64)
}

// find returns the traces with a text, of as many lines as could be searched in the time.
func (o *OpenedRun) find(ctx context.Context, text string) (*searchResult, error) {
	ctx, cancel := context.WithTimeout(ctx, searchPatience)
	defer cancel()
	s := o.searchFor(fold(text))
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case o.runs.readers <- struct{}{}:
		defer func() { <-o.runs.readers }()
	case <-ctx.Done():
	}
	lines, restarts := o.linesFrom(s.lines)
	var d tracefile.Decoder
	var buf, lower []byte
	rare := plainPart(s.text)
	complete := true
	for _, ref := range lines {
		if ctx.Err() != nil {
			complete = false
			break
		}
		data, err := o.runs.source.ReadLine(ref, buf[:0])
		if errors.Is(err, ErrGone) {
			complete = false // the next look at the run notices it
			break
		}
		if err != nil {
			return nil, err
		}
		buf = data
		if lower = foldASCII(lower, data); !bytes.Contains(lower, rare) && !bytes.Contains(data, []byte(`\`)) {
			s.lines++
			continue
		}
		if !o.searchLine(&d, data, s, restarts) {
			complete = false
			break
		}
		s.lines++
	}
	result := &searchResult{found: slices.Clone(s.found), complete: complete}
	o.lookAt(func(c *columns) { c.searchTables(s.text, result) })
	return result, nil
}

// searchFor returns the search for a text, as far as it is.
func (o *OpenedRun) searchFor(text string) *search {
	o.mu.Lock()
	restarts := o.restarts
	o.mu.Unlock()
	cache := &o.search
	cache.mu.Lock()
	defer cache.mu.Unlock()
	if cache.restarts != restarts {
		cache.restarts, cache.last = restarts, nil
	}
	at := slices.IndexFunc(cache.last, func(s *search) bool { return s.text == text })
	s := &search{text: text}
	if at >= 0 {
		s = cache.last[at]
		cache.last = slices.Delete(cache.last, at, at+1)
	}
	cache.last = slices.Insert(cache.last, 0, s)
	cache.last = cache.last[:min(len(cache.last), searchesKept)]
	return s
}

func (o *OpenedRun) linesFrom(n int) (lines []LineRef, restarts uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.lines[min(n, len(o.lines)):]), o.restarts
}

// searchLine looks at the spans of a line that are in the run. It reports false where the run was
// begun anew meanwhile.
func (o *OpenedRun) searchLine(d *tracefile.Decoder, data []byte, s *search, restarts uint64) bool {
	rss := ptrace.NewTraces()
	_, _ = d.Append(rss.ResourceSpans(), data) // what cannot be decoded anymore has no spans
	type ids struct {
		trace [16]byte
		span  uint64
	}
	var hits []ids
	for span := range tracefile.SpansOf(rss) {
		if (span.Run == o.id || unassigned(span.Run)) && spanHas(&span, s.text) {
			hits = append(hits, ids{span.TraceID(), spanIDOf(span.SpanID())})
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.restarts != restarts {
		return false
	}
	for _, hit := range hits {
		// Spans of no run on the line may count elsewhere.
		if row, ok := o.byTrace[hit.trace]; ok && (hit.span == 0 || o.columns.find(row, hit.span) >= 0) {
			s.add(row)
		}
	}
	return true
}

// searchTables adds the traces whose id or a span's name has the text.
func (c *columns) searchTables(text string, r *searchResult) {
	s := search{found: r.found}
	for row := range uint32(len(c.traces)) {
		if strings.Contains(hex.EncodeToString(c.traces[row].id[:]), text) {
			s.add(row)
		}
	}
	stages := make([]bool, len(c.stageTable))
	found := false
	for i, stage := range c.stageTable {
		stages[i] = strings.Contains(fold(stage.name), text)
		found = found || stages[i]
	}
	if found {
		for row, stage := range c.stage {
			if stages[stage] {
				s.add(c.trace[row])
			}
		}
	}
	r.found = s.found
}

// spanHas reports whether a text stands in what a span says in words.
func spanHas(s *tracefile.RunSpan, text string) bool {
	if has(s.Status().Message(), text) || mapHas(s.Attributes(), text) {
		return true
	}
	for _, event := range s.Events().All() {
		if has(event.Name(), text) || mapHas(event.Attributes(), text) {
			return true
		}
	}
	return false
}

func mapHas(m pcommon.Map, text string) bool {
	for _, v := range m.All() {
		if valueHas(v, text) {
			return true
		}
	}
	return false
}

func valueHas(v pcommon.Value, text string) bool {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return has(v.Str(), text)
	case pcommon.ValueTypeMap:
		return mapHas(v.Map(), text)
	case pcommon.ValueTypeSlice:
		for _, item := range v.Slice().All() {
			if valueHas(item, text) {
				return true
			}
		}
	}
	return false
}

func has(text, part string) bool { return strings.Contains(fold(text), part) }

// fold returns a text in lower case. Letters that become ASCII only there (the Kelvin sign) stay, so
// that lines can be searched as bytes.
func fold(text string) string {
	return strings.Map(func(r rune) rune {
		if lower := unicode.ToLower(r); r < utf8.RuneSelf || lower >= utf8.RuneSelf {
			return lower
		}
		return r
	}, text)
}

// foldASCII returns data with ASCII letters in lower case, in dst's memory.
func foldASCII(dst, data []byte) []byte {
	dst = append(dst[:0], data...)
	for i, c := range dst {
		if 'A' <= c && c <= 'Z' {
			dst[i] = c | 0x20
		}
	}
	return dst
}

// plainPart returns the longest part of a folded text that stands in a line as it is, where the line
// has no escapes.
func plainPart(text string) []byte {
	var best string
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return r >= utf8.RuneSelf || r < ' ' || r == '"' || r == '\\'
	}) {
		if len(part) > len(best) {
			best = part
		}
	}
	return []byte(best)
}
