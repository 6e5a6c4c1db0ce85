package tracefile

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"github.com/runspan/runspan/internal/runid"
)

// factKey says which fact an attribute is.
type factKey uint8

const (
	factNone factKey = iota
	factRun
	factService
	factProcess   // and the processAttributes behind it, in their order
	factProcessID = factProcess + factKey(len(processAttributes))
	factKeys      = factProcessID + 1
	// factUnclear: only the decoder knows.
	factUnclear = factKeys
)

// longestFactKey bounds the JSON strings that can be the key of a fact, all of it in escapes.
const longestFactKey = len(`\u0000`) * len("service.instance.id")

// keyOf returns which fact an attribute is whose key is the JSON string s[start:end] without its quotes.
func (n *names) keyOf(s []byte, start, end int) factKey {
	key := s[start:end]
	if len(key) > longestFactKey {
		return factNone
	}
	if escape := bytes.IndexByte(key, '\\'); escape >= 0 {
		text, behind := n.texts.unescape(s, start, start+escape)
		if behind != end+1 {
			return factUnclear
		}
		key = []byte(text)
	}
	switch string(key) {
	case runid.AttributeRunID:
		return factRun
	case runid.AttributeServiceName:
		return factService
	case attributeProcessID:
		return factProcessID
	}
	for i, name := range processAttributes {
		if string(key) == name {
			return factProcess + factKey(i)
		}
	}
	return factNone
}

// name is the value of an attribute that is a fact.
type name struct {
	text string
	run  string // text where that is a valid run id
}

// names keeps each name that lines hold once. The zero value is ready for use.
type names struct {
	known     map[string]*name
	processes map[processKey]Process
	texts     texts
}

type processKey struct {
	values [len(processAttributes)]string
	pid    string
}

const (
	// mostNames bounds the names that are kept: beyond it they are begun anew.
	mostNames = 4096
	// longestName is the longest that is kept.
	longestName = 1024
)

// of returns the name that the JSON string s[start:end] without its quotes stands for; nil where it is
// one that only the decoder understands. A newline ends s, with at least eight bytes behind it.
func (n *names) of(s []byte, start, end int) *name {
	raw := s[start:end]
	if known := n.known[string(raw)]; known != nil {
		return known
	}
	text := ""
	if escape := bytes.IndexByte(raw, '\\'); escape >= 0 {
		behind := 0
		if text, behind = n.texts.unescape(s, start, start+escape); behind != end+1 {
			return nil
		}
	} else {
		text = string(raw)
	}
	return n.keep(raw, text)
}

// keep remembers a name under the bytes that stand for it in a line.
func (n *names) keep(raw []byte, text string) *name {
	of := &name{text: text}
	if runid.Check(text) == nil {
		of.run = text
	}
	if len(n.known) >= mostNames || n.known == nil {
		n.known = map[string]*name{}
	}
	if len(raw) <= longestName {
		n.known[string(raw)] = of
	}
	return of
}

// found are the facts that the attributes of a resource or a span hold: nil where they hold none, and the
// first of two as in pdata.
type found [factKeys]*name

func (f *found) put(key factKey, of *name) {
	if f[key] == nil {
		f[key] = of
	}
}

func (f *found) run() string {
	if of := f[factRun]; of != nil {
		return of.run
	}
	return ""
}

func (f *found) text(key factKey) string {
	if of := f[key]; of != nil {
		return of.text
	}
	return ""
}

// process returns the process that the attributes of a resource name.
func (n *names) process(f *found) Process {
	var key processKey
	for i := range key.values {
		key.values[i] = f.text(factProcess + factKey(i))
	}
	key.pid = f.text(factProcessID)
	if p, ok := n.processes[key]; ok {
		return p
	}
	if len(n.processes) >= mostNames || n.processes == nil {
		n.processes = map[processKey]Process{}
	}
	p := processNamed(key.values, key.pid)
	if len(p.Name) <= longestName {
		n.processes[key] = p
	}
	return p
}

// addSpan adds a span that names a run and a service, or nothing, itself.
func (f *Facts) addSpan(span SpanFacts, own *found, run, service string) {
	if span.Run = own.run(); span.Run == "" {
		span.Run = run
	}
	if span.Service = own.text(factService); span.Service == "" {
		span.Service = service
	}
	if span.Service == "" {
		span.Service = runid.UnknownService
	}
	f.Spans = append(f.Spans, span)
}

// skipText returns the place behind the JSON string whose opening quote is before s[i], and -1 where it is
// not one of valid UTF-8 and valid escapes. A newline ends s, with at least eight bytes behind it.
func skipText(s []byte, i int) int {
	start := i
	var above uint64 // has bits of all bytes
	for {
		word := binary.LittleEndian.Uint64(s[i:])
		stops := stringStops(word)
		if stops == 0 {
			above |= word
			i += 8
			continue
		}
		low := stops & -stops // the highest bit of the byte that stops
		above |= word & (low>>7 - 1)
		i += bits.TrailingZeros64(low) >> 3
		switch s[i] {
		case '"':
			if above&highBits != 0 && !utf8.Valid(s[start:i]) {
				return -1
			}
			return i + 1
		case '\\':
			size := escapeLength(s[i:])
			if size == 0 {
				return -1
			}
			i += size
		default:
			return -1
		}
	}
}

// escapeLength returns the length of the escape with which s begins, 0 where it is none. Half of a
// character above U+FFFF is none: readers make different things of it.
func escapeLength(s []byte) int {
	if unescaped[s[1]] != 0 {
		return 2
	}
	switch r, ok := unicodeUnit(s); {
	case !ok || r >= 0xdc00 && r < 0xe000:
		return 0
	case r < 0xd800 || r >= 0xe000:
		return 6
	}
	if r, ok := unicodeUnit(s[6:]); ok && r >= 0xdc00 && r < 0xe000 {
		return 12
	}
	return 0
}
