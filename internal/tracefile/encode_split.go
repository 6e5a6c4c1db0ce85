package tracefile

import (
	"fmt"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// LineTooLongError says that spans were left out because each is too long for a line of its own.
// Sending them again cannot help.
type LineTooLongError struct {
	// Spans is how many were left out.
	Spans int
	// Bytes is the size of the line that the first of them needs, with its resource, its scope and
	// its newline.
	Bytes int
	// Limit is the limit that it does not keep, in bytes.
	Limit int
	// TraceID and SpanID name the first of them.
	TraceID pcommon.TraceID
	SpanID  pcommon.SpanID
}

// Error implements error.
func (err *LineTooLongError) Error() string {
	return fmt.Sprintf("%d span(s) too long for a line, the first is span %q of trace %q: with its resource and scope it needs %d bytes, "+
		"max_line_bytes is %d; raise max_line_bytes or shorten its attributes",
		err.Spans, err.SpanID, err.TraceID, err.Bytes, err.Limit)
}

// Levels of an object that hold items: a line holds resources, a resource scopes, a scope spans.
const (
	lineLevel = iota
	resourceLevel
	scopeLevel
	levels
)

// splitter packs spans into lines, in their order, into each as many as fit.
type splitter struct {
	e     *Encoder
	limit int
	err   *LineTooLongError
	// heads and tails begin and end the levels around the next span, in any line.
	heads, tails [levels][]byte
	// open is how many levels of the current line are begun and not ended; comma says that the
	// innermost holds an item already.
	open  int
	comma bool
	// start is where the current line starts in the encoder's buffer, ends where the others end.
	start int
	ends  []int
}

// split is the slow path of Encode, for a request that is longer than a line. Resources and scopes
// without a span, which mean nothing to a reader of spans, are left out here.
func (e *Encoder) split(part resources, limit int) error {
	start := len(e.buf)
	s := splitter{e: e, limit: limit, start: start}
	s.heads[lineLevel] = []byte(`{"resourceSpans":[`)
	s.tails[lineLevel] = []byte("]}\n")
	for i := range part.len() {
		rs := part.at(i)
		s.closeTo(resourceLevel)
		s.heads[resourceLevel] = append(e.appendResourceHead(s.heads[resourceLevel][:0], rs), `,"scopeSpans":[`...)
		s.tails[resourceLevel] = appendTail(s.tails[resourceLevel][:0], true, rs.SchemaUrl())
		for _, ss := range rs.ScopeSpans().All() {
			s.closeTo(scopeLevel)
			s.heads[scopeLevel] = append(e.appendScopeHead(s.heads[scopeLevel][:0], ss), `,"spans":[`...)
			s.tails[scopeLevel] = appendTail(s.tails[scopeLevel][:0], true, ss.SchemaUrl())
			for _, span := range ss.Spans().All() {
				s.add(span)
			}
		}
	}
	s.closeTo(lineLevel)
	for _, end := range s.ends {
		e.lines = append(e.lines, e.buf[start:end:end])
		start = end
	}
	if s.err != nil {
		return s.err
	}
	return nil
}

// add puts span into the current line, or, where that would be too long, into a new one. The span is
// encoded once, where it belongs if it fits, and moved up behind the new line's heads if it does not.
func (s *splitter) add(span ptrace.Span) {
	e := s.e
	before := *s
	end := len(e.buf)
	s.openAll()
	item := len(e.buf)
	e.buf = e.appendSpan(e.buf, span)
	if s.size() <= s.limit {
		s.comma = true
		return
	}
	encoded := slices.Clone(e.buf[item:])
	e.buf, *s = e.buf[:end], before
	s.closeTo(lineLevel)
	end = len(e.buf)
	s.openAll()
	e.buf = append(e.buf, encoded...)
	if size := s.size(); size > s.limit {
		s.reject(span, size)
		e.buf, s.open = e.buf[:end], 0
		return
	}
	s.comma = true
}

func (s *splitter) reject(span ptrace.Span, size int) {
	if s.err == nil {
		s.err = &LineTooLongError{Bytes: size, Limit: s.limit, TraceID: span.TraceID(), SpanID: span.SpanID()}
	}
	s.err.Spans++
}

// openAll begins what is not begun of the levels around a span, and sets the comma before it.
func (s *splitter) openAll() {
	e := s.e
	for ; s.open < levels; s.open++ {
		if s.comma {
			e.buf = append(e.buf, ',')
			s.comma = false
		}
		e.buf = append(e.buf, s.heads[s.open]...)
	}
	if s.comma {
		e.buf = append(e.buf, ',')
	}
}

// closeTo ends the levels from the innermost one on until only `level` of them are open; closing
// them all ends the line.
func (s *splitter) closeTo(level int) {
	e := s.e
	for s.open > level {
		s.open--
		e.buf = append(e.buf, s.tails[s.open]...)
		s.comma = s.open > 0
		if s.open == 0 {
			s.start = len(e.buf)
			s.ends = append(s.ends, s.start)
		}
	}
}

// size is the size of the current line if it ended now.
func (s *splitter) size() int {
	n := len(s.e.buf) - s.start
	for _, tail := range s.tails {
		n += len(tail)
	}
	return n
}
