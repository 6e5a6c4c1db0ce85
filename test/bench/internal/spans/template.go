package spans

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

// Markers stand in the encoded request where a stamp is written. The ids' markers are not UTF-8, so
// no text of a span can hold them; New counts them all the same.
const (
	runMarker   = "~run~id~"          // 8 bytes, becomes 8 hex digits
	traceMarker = "\xff\xfeTRACE\xff" // the first 8 of a trace id's 16 bytes
	spanMarker  = "\xff\xfdS\xff"     // the first 4 of a span id's 8 bytes
)

// Template is one request, encoded before the clock starts. Stamp makes it a new request in a few
// hundred nanoseconds: an exporter that drops what it has seen, and a processor that remembers
// traces, must not be measured with the same ids again and again. It is for one goroutine.
type Template struct {
	shape  Shape
	body   []byte
	runs   []int // offsets in body
	traces []int
	spans  []int
}

// New returns a template of the given shape.
func New(shape Shape) (*Template, error) {
	if err := shape.Check(); err != nil {
		return nil, err
	}
	body, err := ptraceotlp.NewExportRequestFromTraces(build(shape)).MarshalProto()
	if err != nil {
		return nil, fmt.Errorf("encode a request: %w", err)
	}
	t := &Template{
		shape: shape, body: body,
		runs: offsets(body, runMarker), traces: offsets(body, traceMarker), spans: offsets(body, spanMarker),
	}
	wantRuns := shape.Spans
	if shape.Naming == OnResource {
		wantRuns = 1
	}
	roots := (shape.Spans + spansPerTrace - 1) / spansPerTrace
	if len(t.runs) != wantRuns || len(t.traces) != shape.Spans || len(t.spans) != 2*shape.Spans-roots {
		return nil, fmt.Errorf("found %d run ids, %d trace ids, %d span ids in a request of %d spans",
			len(t.runs), len(t.traces), len(t.spans), shape.Spans)
	}
	return t, nil
}

// Size returns the bytes of a request.
func (t *Template) Size() int { return len(t.body) }

// Stamp writes the ids of the seq-th request and returns it, valid until the next Stamp. Requests of
// different seq share no trace id (up to 2^32 requests, no span id either).
func (t *Template) Stamp(seq uint64) []byte {
	var id [8]byte
	binary.BigEndian.PutUint64(id[:], scramble(seq))
	for _, at := range t.traces {
		copy(t.body[at:], id[:])
	}
	// The multiplier is odd, so no two numbers below 2^32 give the same.
	binary.BigEndian.PutUint32(id[:4], uint32(seq)*0x9e3779b1)
	for _, at := range t.spans {
		copy(t.body[at:], id[:4])
	}
	for i, at := range t.runs {
		var number [4]byte
		binary.BigEndian.PutUint32(number[:], uint32(t.run(seq, i)))
		hex.Encode(t.body[at:at+8], number[:])
	}
	return t.body
}

// run returns the number of the run of the i-th span of the seq-th request.
func (t *Template) run(seq uint64, i int) uint64 {
	if t.shape.Naming == Mixed {
		seq = seq*uint64(t.shape.Spans) + uint64(i)
	}
	return seq % uint64(t.shape.Runs)
}

func offsets(body []byte, marker string) []int {
	var found []int
	for from := 0; ; {
		i := bytes.Index(body[from:], []byte(marker))
		if i < 0 {
			return found
		}
		found = append(found, from+i)
		from += i + len(marker)
	}
}

func traceID(trace int) pcommon.TraceID {
	var id pcommon.TraceID
	copy(id[:], traceMarker)
	binary.BigEndian.PutUint64(id[8:], scramble(uint64(trace)))
	return id
}

func spanID(i int) pcommon.SpanID {
	var id pcommon.SpanID
	copy(id[:], spanMarker)
	binary.BigEndian.PutUint32(id[4:], uint32(i+1)*0x9e3779b1)
	return id
}

// scramble spreads a small number over 64 bits without giving two numbers the same result: ids in
// the field are random, and compress badly. (The finalizer of SplitMix64.)
func scramble(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}
