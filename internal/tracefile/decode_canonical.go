package tracefile

import (
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// canonical reads lines in the one form that appendTraces writes: keys in their order, no white
// space, numbers as it writes them. Whatever else it meets it gives up on, so that it needs to know
// no more of JSON than that form.
type canonical struct {
	// s is the line with the newline that ends it, and readable bytes behind that: a word of eight bytes
	// can be loaded at any place of the line. No string goes on over a newline, and no key has one.
	s []byte
	n int // where the newline is
	i int // the place in s
	// sep is what stands before the next field of the object that is being read: its opening brace,
	// or a comma.
	sep byte
	bad bool

	texts  texts
	padded []byte // for a line that has nothing behind it
	// The strings in the attributes of the last spans, how many attributes the last span had, and how
	// many spans the last scope: the next one mostly has as many, with the same keys and some of the
	// same values. A string that had an escape is not among them.
	last       []attribute
	attributes int
	spans      int
}

type attribute struct{ key, value string }

// slackBehind is how many bytes must be readable behind a line.
const slackBehind = 16

// maxScannedKeys bounds the attributes of one map: pdata compares each new key with all keys before
// it, which takes seconds for 100,000 of them. The stock unmarshaler does not.
const maxScannedKeys = 128

// read appends the resources of a line to rss. It returns false where the line is not in the form;
// what it appended until then is of no use. It reads up to slackBehind bytes of the capacity behind the
// line, whatever they are, and otherwise works on a copy.
func (c *canonical) read(rss ptrace.ResourceSpansSlice, line []byte) bool {
	c.begin(line)
	c.traces(rss)
	return c.over()
}

// begin sets the place to the start of a line.
func (c *canonical) begin(line []byte) {
	n := len(line)
	if n > 0 && line[n-1] == '\n' && cap(line)-n >= slackBehind {
		n--
		c.s = line[:n+1+slackBehind]
	} else {
		if n > 0 && line[n-1] == '\n' {
			n--
		}
		c.padded = append(append(c.padded[:0], line[:n]...), "\n                "...)
		c.s = c.padded
	}
	c.n, c.i, c.bad = n, 0, false
}

// over reports whether all of the line was read, and forgets the line.
func (c *canonical) over() bool {
	ok := !c.bad && c.i == c.n
	c.s = nil
	if cap(c.padded) > 1<<20 {
		c.padded = nil // blown up by one huge line
	}
	return ok
}

// fail gives up: from here on nothing matches, and every loop ends.
func (c *canonical) fail() {
	c.bad = true
	c.i = c.n
}

// accept steps over the text, if it stands here. The text has no newline, so that it cannot match
// what is behind the line.
func (c *canonical) accept(text string) bool {
	if !c.stands(c.i, text) {
		return false
	}
	c.i += len(text)
	return true
}

func (c *canonical) stands(at int, text string) bool {
	return len(c.s)-at >= len(text) && string(c.s[at:at+len(text)]) == text
}

func (c *canonical) expect(text string) {
	if !c.accept(text) {
		c.fail()
	}
}

// open begins an object.
func (c *canonical) open() {
	if c.s[c.i] != '{' {
		c.fail()
	}
	c.sep = '{'
}

// field steps over the separator and the key, with its colon and all that always follows, if the
// object's next field has it.
func (c *canonical) field(key string) bool {
	if c.s[c.i] != c.sep || !c.stands(c.i+1, key) {
		return false
	}
	c.i += 1 + len(key)
	c.sep = ','
	return true
}

// end ends an object, which must have no further field.
func (c *canonical) end() {
	if c.sep == '{' { // it had none at all
		c.i++
	}
	c.expect("}")
	c.sep = ','
}

// next steps behind an item of a list and reports whether another one follows.
func (c *canonical) next() bool {
	switch c.s[c.i] {
	case ',':
		c.i++
		return true
	case ']':
		c.i++
		c.sep = ','
	default:
		c.fail()
	}
	return false
}

func (c *canonical) traces(rss ptrace.ResourceSpansSlice) {
	c.expect(`{"resourceSpans":[`)
	for more := !c.bad; more; more = c.next() {
		c.resourceSpans(rss.AppendEmpty())
	}
	c.expect("}")
}

func (c *canonical) resourceSpans(rs ptrace.ResourceSpans) {
	c.expect(`{"resource":`)
	c.open()
	c.attributesField(rs.Resource().Attributes())
	rs.Resource().SetDroppedAttributesCount(c.count(`"droppedAttributesCount":`))
	c.end()
	for more := c.field(`"scopeSpans":[`); more; more = c.next() {
		c.scopeSpans(rs.ScopeSpans().AppendEmpty())
	}
	rs.SetSchemaUrl(c.text(`"schemaUrl":"`))
	c.end()
}

func (c *canonical) scopeSpans(ss ptrace.ScopeSpans) {
	c.expect(`{"scope":`)
	scope := ss.Scope()
	c.open()
	scope.SetName(c.text(`"name":"`))
	scope.SetVersion(c.text(`"version":"`))
	c.attributesField(scope.Attributes())
	scope.SetDroppedAttributesCount(c.count(`"droppedAttributesCount":`))
	c.end()
	if c.field(`"spans":[`) {
		ss.Spans().EnsureCapacity(min(c.spans, 1000))
		for more := true; more; more = c.next() {
			c.span(ss.Spans().AppendEmpty())
		}
		c.spans = ss.Spans().Len()
	}
	ss.SetSchemaUrl(c.text(`"schemaUrl":"`))
	c.end()
}

func (c *canonical) span(span ptrace.Span) {
	c.open()
	if c.field(`"traceId":"`) {
		span.SetTraceID(c.traceID())
	}
	if c.field(`"spanId":"`) {
		span.SetSpanID(c.spanID())
	}
	if c.field(`"traceState":"`) {
		span.TraceState().FromRaw(c.string())
	}
	if c.field(`"parentSpanId":"`) {
		span.SetParentSpanID(c.spanID())
	}
	span.SetFlags(c.count(`"flags":`))
	span.SetName(c.text(`"name":"`))
	span.SetKind(ptrace.SpanKind(c.enum(`"kind":`)))
	span.SetStartTimestamp(c.time(`"startTimeUnixNano":"`))
	span.SetEndTimestamp(c.time(`"endTimeUnixNano":"`))
	if c.field(`"attributes":[`) {
		span.Attributes().EnsureCapacity(c.attributes)
		c.spanAttributes(span.Attributes())
		c.attributes = span.Attributes().Len()
	}
	span.SetDroppedAttributesCount(c.count(`"droppedAttributesCount":`))
	for more := c.field(`"events":[`); more; more = c.next() {
		c.event(span.Events().AppendEmpty())
	}
	span.SetDroppedEventsCount(c.count(`"droppedEventsCount":`))
	for more := c.field(`"links":[`); more; more = c.next() {
		c.link(span.Links().AppendEmpty())
	}
	span.SetDroppedLinksCount(c.count(`"droppedLinksCount":`))
	if c.field(`"status":`) {
		c.open()
		if message := c.text(`"message":"`); message != "" {
			span.Status().SetMessage(message)
		}
		if code := c.enum(`"code":`); code != 0 {
			span.Status().SetCode(ptrace.StatusCode(code))
		}
		c.end()
	}
	c.end()
}

func (c *canonical) event(event ptrace.SpanEvent) {
	c.open()
	event.SetTimestamp(c.time(`"timeUnixNano":"`))
	event.SetName(c.text(`"name":"`))
	c.attributesField(event.Attributes())
	event.SetDroppedAttributesCount(c.count(`"droppedAttributesCount":`))
	c.end()
}

func (c *canonical) link(link ptrace.SpanLink) {
	c.open()
	if c.field(`"traceId":"`) {
		link.SetTraceID(c.traceID())
	}
	if c.field(`"spanId":"`) {
		link.SetSpanID(c.spanID())
	}
	if c.field(`"traceState":"`) {
		link.TraceState().FromRaw(c.string())
	}
	c.attributesField(link.Attributes())
	link.SetDroppedAttributesCount(c.count(`"droppedAttributesCount":`))
	link.SetFlags(c.count(`"flags":`))
	c.end()
}

func (c *canonical) attributesField(m pcommon.Map) {
	if c.field(`"attributes":[`) {
		c.keyValues(m, 0)
	}
}

// spanAttributes is keyValues for those of a span, most of which the span before had too.
func (c *canonical) spanAttributes(m pcommon.Map) {
	n := 0
	for more := true; more; more = c.next() {
		if n == maxScannedKeys {
			c.fail()
			return
		}
		if n == len(c.last) {
			c.last = append(c.last, attribute{})
		}
		last := &c.last[n]
		c.expect(`{"key":"`)
		v, ok := c.put(m, c.stringLike(&last.key), &n)
		if !ok {
			return
		}
		if c.accept(`,"value":{"stringValue":"`) {
			v.SetStr(c.stringLike(&last.value))
			c.expect("}}")
			continue
		}
		c.expect(`,"value":`)
		c.value(v, 0)
		c.expect("}")
	}
}

// keyValues reads the entries of a map, which has at least one, behind the list's bracket.
func (c *canonical) keyValues(m pcommon.Map, depth int) {
	n := 0
	for more := true; more; more = c.next() {
		c.expect(`{"key":"`)
		v, ok := c.put(m, c.string(), &n)
		if !ok {
			return
		}
		c.expect(`,"value":`)
		c.value(v, depth)
		c.expect("}")
	}
}

// put adds a key to a map that had n. It gives up on a key that was there before: pdata would lose its
// first value, and the stock unmarshaler keeps both.
func (c *canonical) put(m pcommon.Map, key string, n *int) (pcommon.Value, bool) {
	v := m.PutEmpty(key)
	if *n++; m.Len() != *n || *n > maxScannedKeys {
		c.fail()
		return v, false
	}
	return v, true
}

func (c *canonical) value(v pcommon.Value, depth int) {
	switch {
	case c.accept(`{"stringValue":"`):
		v.SetStr(c.string())
	case c.accept(`{"intValue":"`):
		v.SetInt(c.integer())
		c.expect(`"`)
	case c.accept(`{"doubleValue":`):
		v.SetDouble(c.double())
	case c.accept(`{"boolValue":`):
		isTrue := c.accept("true")
		if !isTrue {
			c.expect("false")
		}
		v.SetBool(isTrue)
	case c.accept(`{"arrayValue":{`):
		c.array(v.SetEmptySlice(), depth+1)
	case c.accept(`{"kvlistValue":{`):
		c.kvlist(v.SetEmptyMap(), depth+1)
	case c.accept(`{"bytesValue":"`):
		v.SetEmptyBytes().FromRaw(c.base64())
	default: // a value without a type
		c.expect("{")
	}
	c.expect("}")
}

func (c *canonical) array(values pcommon.Slice, depth int) {
	if depth > maxDepth { // deeper than any line of ours; each level is a level of the stack
		c.fail()
	}
	for more := c.accept(`"values":[`); more; more = c.next() {
		c.value(values.AppendEmpty(), depth)
	}
	c.expect("}")
}

func (c *canonical) kvlist(m pcommon.Map, depth int) {
	if depth > maxDepth {
		c.fail()
	}
	if c.accept(`"values":[`) {
		c.keyValues(m, depth)
	}
	c.expect("}")
}

// text reads a string field, which is empty where it is not there. The key ends with the quote.
func (c *canonical) text(key string) string {
	if !c.field(key) {
		return ""
	}
	return c.string()
}

func (c *canonical) count(key string) uint32 {
	if !c.field(key) {
		return 0
	}
	n := c.digits()
	if n > math.MaxUint32 {
		c.fail()
	}
	return uint32(n)
}

func (c *canonical) enum(key string) int32 {
	if !c.field(key) {
		return 0
	}
	n := c.integer()
	if n != int64(int32(n)) {
		c.fail()
	}
	return int32(n)
}

func (c *canonical) time(key string) pcommon.Timestamp {
	if !c.field(key) {
		return 0
	}
	n := c.digits()
	c.expect(`"`)
	return pcommon.Timestamp(n)
}
