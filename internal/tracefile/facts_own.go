package tracefile

import (
	"bytes"
	"strconv"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// ownFacts reads the facts of lines in the one form that appendTraces writes. It is [canonical], but
// makes nothing of what it reads: it only finds out that the decoder would take it.
type ownFacts struct {
	canonical
	names *names
	facts *Facts

	resource, scope, spanned, event []guess // of the last attributes of each
}

// guess is what is remembered of the last attribute at a place of a list: the next one there mostly has
// the same key, and often the same value.
type guess struct {
	head  []byte // the attribute up to its value: {"key":"a","value":{"stringValue":"
	value []byte // what follows where that was short, with all that ends the attribute
	kind  valueKind
	key   factKey
	name  *name // of the value, where the key is that of a fact
}

type valueKind uint8

const (
	valueText valueKind = iota
	valueInt
	valueOther
)

// mostGuesses bounds the attributes of a list that are remembered, longestGuess each of them.
const (
	mostGuesses  = 128
	longestGuess = 128
)

func (f *ownFacts) read(facts *Facts, names *names, line []byte) bool {
	facts.reset()
	f.facts, f.names = facts, names
	f.begin(line)
	f.traces()
	return f.over() && len(facts.Spans) > 0
}

func (f *ownFacts) traces() {
	f.expect(`{"resourceSpans":[`)
	for more := !f.bad; more; more = f.next() {
		f.resourceSpans()
	}
	f.expect("}")
}

func (f *ownFacts) resourceSpans() {
	f.expect(`{"resource":`)
	f.open()
	var own found
	f.attributesField(&f.resource, &own)
	f.count(`"droppedAttributesCount":`)
	f.end()
	if f.bad {
		return
	}
	f.facts.Processes = append(f.facts.Processes, f.names.process(&own))
	run, service := own.run(), own.text(factService)
	for more := f.field(`"scopeSpans":[`); more; more = f.next() {
		f.scopeSpans(run, service)
	}
	f.skipField(`"schemaUrl":"`)
	f.end()
}

func (f *ownFacts) scopeSpans(run, service string) {
	f.expect(`{"scope":`)
	f.open()
	f.skipField(`"name":"`)
	f.skipField(`"version":"`)
	f.attributesField(&f.scope, nil)
	f.count(`"droppedAttributesCount":`)
	f.end()
	for more := f.field(`"spans":[`); more; more = f.next() {
		f.span(run, service)
	}
	f.skipField(`"schemaUrl":"`)
	f.end()
}

func (f *ownFacts) span(run, service string) {
	var own found
	span := SpanFacts{Process: len(f.facts.Processes) - 1}
	f.open()
	if f.field(`"traceId":"`) {
		span.Trace = f.traceID()
	}
	if f.field(`"spanId":"`) {
		f.spanID()
	}
	f.skipField(`"traceState":"`)
	if f.field(`"parentSpanId":"`) {
		f.spanID()
	}
	f.count(`"flags":`)
	f.skipField(`"name":"`)
	f.enum(`"kind":`)
	span.Start = uint64(f.time(`"startTimeUnixNano":"`))
	span.End = uint64(f.time(`"endTimeUnixNano":"`))
	f.attributesField(&f.spanned, &own)
	if f.accept(`,"status":{}}`) { // as most spans end
		f.sep = ','
	} else {
		span.Failed = f.spanEnd()
	}
	if !f.bad {
		f.facts.addSpan(span, &own, run, service)
	}
}

// spanEnd reads what stands behind a span's attributes, and reports whether it failed.
func (f *ownFacts) spanEnd() (failed bool) {
	f.count(`"droppedAttributesCount":`)
	for more := f.field(`"events":[`); more; more = f.next() {
		f.open()
		f.time(`"timeUnixNano":"`)
		f.skipField(`"name":"`)
		f.attributesField(&f.event, nil)
		f.count(`"droppedAttributesCount":`)
		f.end()
	}
	f.count(`"droppedEventsCount":`)
	for more := f.field(`"links":[`); more; more = f.next() {
		f.link()
	}
	f.count(`"droppedLinksCount":`)
	if f.field(`"status":`) {
		f.open()
		f.skipField(`"message":"`)
		failed = f.enum(`"code":`) == int32(ptrace.StatusCodeError)
		f.end()
	}
	f.end()
	return failed
}

func (f *ownFacts) link() {
	f.open()
	if f.field(`"traceId":"`) {
		f.traceID()
	}
	if f.field(`"spanId":"`) {
		f.spanID()
	}
	f.skipField(`"traceState":"`)
	f.attributesField(&f.event, nil)
	f.count(`"droppedAttributesCount":`)
	f.count(`"flags":`)
	f.end()
}

// skipField steps over a string field. The key ends with the quote.
func (f *ownFacts) skipField(key string) {
	if f.field(key) {
		f.skip()
	}
}

// skip steps over a string behind its opening quote.
func (f *ownFacts) skip() {
	if end := skipText(f.s, f.i); end >= 0 {
		f.i = end
	} else {
		f.fail()
	}
}

// attributesField reads the attributes, if there are any, and finds the facts among them unless own is
// nil.
func (f *ownFacts) attributesField(guesses *[]guess, own *found) {
	if !f.field(`"attributes":[`) {
		return
	}
	for n := 0; ; n++ {
		if n == len(*guesses) && n <= mostGuesses {
			*guesses = append(*guesses, guess{})
		}
		g := &(*guesses)[min(n, mostGuesses)]
		f.attribute(g)
		if own != nil && g.key != factNone {
			own.put(g.key, g.name)
		}
		// This is next, which the compiler does not inline.
		switch f.s[f.i] {
		case ',':
			f.i++
		case ']':
			f.i++
			f.sep = ','
			return
		default:
			f.fail()
			return
		}
	}
}

// attribute reads one attribute, of which a guess is known, and makes it the guess.
func (f *ownFacts) attribute(g *guess) {
	at := f.i
	end := at + len(g.head)
	if len(g.head) == 0 || end > f.n || string(f.s[at:end]) != string(g.head) {
		f.attributeHead(g)
		if f.bad {
			return
		}
	} else {
		f.i = end
	}
	start := f.i
	if size := len(g.value); size > 0 && start+size <= f.n && string(f.s[start:start+size]) == string(g.value) {
		f.i = start + size
		return
	}
	switch g.kind {
	case valueText:
		f.skip()
		if g.key != factNone && !f.bad {
			if g.name = f.names.of(f.s, start, f.i-1); g.name == nil {
				f.fail()
			}
		}
		f.expect("}}")
	case valueInt:
		f.integerLike(g)
		f.expect(`"}}`)
	case valueOther:
		if g.key != factNone {
			f.fail() // the decoder says what the text of such a value is
		}
		f.value(0)
		f.expect("}")
	}
	g.value = g.value[:0]
	if size := f.i - start; !f.bad && size <= longestGuess {
		g.value = append(g.value, f.s[start:f.i]...)
	}
}

func (f *ownFacts) integerLike(g *guess) {
	n := f.integer()
	if g.key != factNone && !f.bad {
		text := strconv.FormatInt(n, 10)
		g.name = f.names.keep([]byte(text), text)
	}
}

// attributeHead reads an attribute up to its value.
func (f *ownFacts) attributeHead(g *guess) {
	start := f.i
	g.value = g.value[:0]
	g.name = nil
	f.expect(`{"key":"`)
	key := f.i
	f.skip()
	if f.bad {
		return
	}
	if g.key = f.names.keyOf(f.s, key, f.i-1); g.key == factUnclear {
		f.fail()
		return
	}
	f.expect(`,"value":`)
	switch {
	case f.accept(`{"stringValue":"`):
		g.kind = valueText
	case f.accept(`{"intValue":"`):
		g.kind = valueInt
	default:
		g.kind = valueOther
	}
	g.head = g.head[:0]
	if size := f.i - start; !f.bad && size <= longestGuess {
		g.head = append(g.head, f.s[start:f.i]...)
	}
}

// value reads a value that is inside depth arrays and maps.
func (f *ownFacts) value(depth int) {
	switch {
	case f.accept(`{"stringValue":"`):
		f.skip()
	case f.accept(`{"intValue":"`):
		f.integer()
		f.expect(`"`)
	case f.accept(`{"doubleValue":`):
		f.skipDouble()
	case f.accept(`{"boolValue":`):
		if !f.accept("true") {
			f.expect("false")
		}
	case f.accept(`{"arrayValue":{`):
		f.values(depth+1, f.value)
	case f.accept(`{"kvlistValue":{`):
		f.values(depth+1, f.keyValue)
	case f.accept(`{"bytesValue":"`):
		f.base64()
	default: // a value without a type
		f.expect("{")
	}
	f.expect("}")
}

func (f *ownFacts) values(depth int, each func(depth int)) {
	if depth > maxDepth { // as deep as any line of ours; each level is a level of the stack
		f.fail()
	}
	for more := f.accept(`"values":[`); more; more = f.next() {
		each(depth)
	}
	f.expect("}")
}

func (f *ownFacts) keyValue(depth int) {
	f.expect(`{"key":"`)
	f.skip()
	f.expect(`,"value":`)
	f.value(depth)
	f.expect("}")
}

// fitsFloat reports whether a JSON number is within the range of a float64. Parsing every number to know
// would cost ten times as much as stepping over it.
func fitsFloat(number []byte) bool {
	const surely = 100 // digits
	if len(number) < surely && bytes.IndexByte(number, 'e') < 0 && bytes.IndexByte(number, 'E') < 0 {
		return true
	}
	_, err := strconv.ParseFloat(string(number), 64)
	return err == nil
}
