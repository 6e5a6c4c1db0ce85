// Package tracefile is the trace file: one OTLP/JSON object a line, written so that no reader ever
// meets a line that it cannot parse. It encodes, appends, repairs, locks, scans and tails such
// files.
package tracefile

import (
	"bytes"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// DefaultMaxLineBytes is the size of a line, its newline included, over which an [Encoder] without a
// limit of its own splits a request: 16 MiB.
const DefaultMaxLineBytes = 16 << 20

// AppendTraces appends td to dst as one OTLP/JSON object, without white space and without a newline,
// and returns the extended buffer. The bytes are those of the collector's ptrace.JSONMarshaler,
// except that
//
//   - invalid UTF-8 becomes U+FFFD, one for each bad byte, as in encoding/json;
//   - U+0085, U+2028 and U+2029 are escaped, because Python's str.splitlines ends a line at them;
//   - a value inside more than 28 arrays and maps is a string that holds its JSON, because common
//     readers refuse a whole line for its depth (docs/adr/0003-own-trace-encoder.md).
//
// It does not allocate where dst has room, and it has no limit: use an [Encoder] to keep lines short.
func AppendTraces(dst []byte, td ptrace.Traces) []byte {
	var e Encoder
	dst, _ = e.appendTraces(dst, resources{all: migrated(td).ResourceSpans()}, noLimit)
	return dst
}

// Encoder turns traces into lines and keeps its buffers between calls. The zero value is ready for
// use. It must not be used by two goroutines at once: pool encoders, one for each request in flight.
type Encoder struct {
	// MaxLineBytes bounds a line, its newline included. Unit: bytes. Zero means DefaultMaxLineBytes.
	MaxLineBytes int

	all       ptrace.Traces
	buf       []byte
	lines     [][]byte
	flattened int
	moved     bool // spans of OTLP's older list of scopes were written
}

// Encode returns td as lines, each with its newline and none longer than MaxLineBytes: one line if
// it fits, otherwise several that are split between spans and repeat their resource and scope, with
// spans in their order. The same td always gives the same lines. Traces without a span give none.
//
// A span too long for a line of its own is left out, and the error is a *LineTooLongError; the lines
// returned with it hold everything else. The lines are valid until the next call.
func (e *Encoder) Encode(td ptrace.Traces) ([][]byte, error) {
	e.Begin(td)
	defer e.End()
	return e.EncodePart(nil)
}

// Begin gets ready to encode td in parts, as for several files, until End.
func (e *Encoder) Begin(td ptrace.Traces) {
	e.all = migrated(td)
	e.moved = e.all != td
	e.buf = e.buf[:0]
	e.lines = e.lines[:0]
	e.flattened = 0
}

// End lets go of the request; the lines stay valid.
func (e *Encoder) End() { e.all = ptrace.Traces{} }

// EncodePart is Encode for some of the resources that Begin was given, by their indices; nil stands for
// all. Its lines are valid until the next Begin.
func (e *Encoder) EncodePart(indices []int) ([][]byte, error) {
	part := resources{all: e.all.ResourceSpans(), indices: indices}
	if !part.haveSpans() {
		return nil, nil
	}
	limit := e.MaxLineBytes
	if limit <= 0 {
		limit = DefaultMaxLineBytes
	}
	start, first, flattened := len(e.buf), len(e.lines), e.flattened
	var fits bool
	var err error
	if e.buf, fits = e.appendTraces(e.buf, part, limit-1); fits {
		e.buf = append(e.buf, '\n')
		e.lines = append(e.lines, e.buf[start:len(e.buf):len(e.buf)])
	} else {
		e.buf, e.flattened = e.buf[:start], flattened
		err = e.split(part, limit)
	}
	return e.lines[first:len(e.lines):len(e.lines)], err
}

// resources are some of the resources of a request; nil indices stand for all.
type resources struct {
	all     ptrace.ResourceSpansSlice
	indices []int
}

func (r resources) len() int {
	if r.indices == nil {
		return r.all.Len()
	}
	return len(r.indices)
}

func (r resources) at(i int) ptrace.ResourceSpans {
	if r.indices == nil {
		return r.all.At(i)
	}
	return r.all.At(r.indices[i])
}

func (r resources) haveSpans() bool {
	for i := range r.len() {
		for _, ss := range r.at(i).ScopeSpans().All() {
			if ss.Spans().Len() > 0 {
				return true
			}
		}
	}
	return false
}

// Buffered is the size of the buffer that is kept between calls. Unit: bytes.
func (e *Encoder) Buffered() int { return cap(e.buf) }

// Flattened is the number of values since the last Begin or Encode that were nested too deep for
// common readers and stand in their line as a string that holds their JSON.
func (e *Encoder) Flattened() int {
	return e.flattened
}

// Exact reports whether what was encoded since the last Begin or Encode is one line that means all of
// the request and nothing else: not split, no bad UTF-8 repaired, no value flattened.
func (e *Encoder) Exact() bool {
	return len(e.lines) == 1 && e.flattened == 0 && !e.moved && !bytes.Contains(e.lines[0], []byte("\uFFFD"))
}
