package tracefile

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// string reads a string behind its opening quote.
func (c *canonical) string() string {
	start := c.i
	for i := start; ; i += 8 {
		found := stringStops(binary.LittleEndian.Uint64(c.s[i:]))
		if found == 0 {
			continue
		}
		i += bits.TrailingZeros64(found) >> 3
		switch c.s[i] {
		case '"':
			c.i = i + 1
			return c.texts.keep(c.s[start:i])
		case '\\':
			text, end := c.texts.unescape(c.s, start, i)
			if end < 0 {
				c.fail()
				return ""
			}
			c.i = end
			return text
		default:
			c.fail()
			return ""
		}
	}
}

// maxGuess bounds the strings that are guessed, which keep their block alive.
const maxGuess = 256

// stringLike is string where the last one is likely to come again: then it costs neither a search nor
// memory.
func (c *canonical) stringLike(last *string) string {
	if end := c.i + len(*last); c.stands(c.i, *last) && end < c.n && c.s[end] == '"' {
		c.i = end + 1
		return *last
	}
	start := c.i
	text := c.string()
	*last = ""
	// Every escape is longer than what it stands for: a string of the same length has none, and the
	// same bytes mean the same string.
	if size := c.i - start - 1; size == len(text) && size <= maxGuess {
		*last = text
	}
	return text
}

// stringStops has the highest bit of a byte set where that byte of word ends a run of plain text: a
// quote, a backslash or a control character. Only the lowest bit set, and none set, mean something.
func stringStops(word uint64) uint64 {
	// Exchanging 0x20 and 0x22, blank and quote, puts the quote right behind the control characters.
	quote, backslash := word^0x02*ones, word^'\\'*ones
	return ((quote-0x21*ones)&^quote | (backslash-ones)&^backslash) & highBits
}

// digits reads an unsigned integer without leading zeros.
func (c *canonical) digits() uint64 {
	start := c.i
	var n uint64
	i := start
	for range 2 { // sixteen of the nineteen digits of a time
		word := binary.LittleEndian.Uint64(c.s[i:])
		if !eightAreDigits(word) {
			break
		}
		n = n*1e8 + eightDigitsValue(word)
		i += 8
	}
	for c.s[i]-'0' <= 9 {
		n = n*10 + uint64(c.s[i]-'0')
		i++
	}
	size := i - start
	c.i = i
	// Nineteen digits always fit. Twenty, and none, are left to the stock unmarshaler.
	if size == 0 || size > 19 || (size > 1 && c.s[start] == '0') {
		c.fail()
	}
	return n
}

// integer reads a signed integer without leading zeros.
func (c *canonical) integer() int64 {
	negative := c.accept("-")
	n := c.digits()
	switch {
	case negative && n <= 1<<63:
		return -int64(n)
	case negative || n > math.MaxInt64:
		c.fail()
	}
	return int64(n)
}

func eightAreDigits(word uint64) bool {
	return (word&(word+0x06*ones))&(0xf0*ones) == 0x30*ones
}

// eightDigitsValue is the number that eight ASCII digits are, the first in the lowest byte: pairs,
// then fours, then all eight, each step in all lanes at once.
func eightDigitsValue(word uint64) uint64 {
	word -= '0' * ones
	word = word*10 + word>>8
	const lanes = 0x000000ff_000000ff
	return ((word&lanes)*(100+1_000_000<<32) + (word>>16&lanes)*(1+10_000<<32)) >> 32
}

// double reads a number, or one of the three values that stand as strings.
func (c *canonical) double() float64 {
	switch {
	case c.accept(`"NaN"`):
		return math.NaN()
	case c.accept(`"Infinity"`):
		return math.Inf(1)
	case c.accept(`"-Infinity"`):
		return math.Inf(-1)
	}
	size := numberLength(c.s[c.i:])
	f, err := strconv.ParseFloat(string(c.s[c.i:c.i+size]), 64)
	if err != nil { // also when there is no number
		c.fail()
		return 0
	}
	c.i += size
	return f
}

// numberLength returns the length of the JSON number with which s begins, zero if there is none.
func numberLength(s []byte) int {
	i := 0
	digits := func() bool {
		start := i
		for i < len(s) && s[i]-'0' <= 9 {
			i++
		}
		return i > start
	}
	if i < len(s) && s[i] == '-' {
		i++
	}
	first := i
	if !digits() || (s[first] == '0' && i-first > 1) {
		return 0
	}
	if i < len(s) && s[i] == '.' {
		if i++; !digits() {
			return 0
		}
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if !digits() {
			return 0
		}
	}
	return i
}

// base64 reads bytes behind the opening quote.
func (c *canonical) base64() []byte {
	size := bytes.IndexByte(c.s[c.i:c.n], '"')
	if size < 0 {
		c.fail()
		return nil
	}
	text := c.s[c.i : c.i+size]
	b := make([]byte, base64.StdEncoding.DecodedLen(size))
	n, err := base64.StdEncoding.Decode(b, text)
	if err != nil || bytes.IndexByte(text, '\r') >= 0 { // which Decode steps over
		c.fail()
		return nil
	}
	c.i += size + 1
	return b[:n]
}

func (c *canonical) traceID() (id pcommon.TraceID) {
	c.hex(id[:])
	return id
}

func (c *canonical) spanID() (id pcommon.SpanID) {
	c.hex(id[:])
	return id
}

// hex fills id from the hexadecimal digits in front of the closing quote.
func (c *canonical) hex(id []byte) {
	text := c.s[c.i:c.n]
	if len(text) <= 2*len(id) || text[2*len(id)] != '"' {
		c.fail()
		return
	}
	var wrong byte
	for i := range id {
		high, low := hexValues[text[2*i]], hexValues[text[2*i+1]]
		wrong |= high | low
		id[i] = high<<4 | low&0x0f
	}
	if wrong > 0x0f {
		c.fail()
		return
	}
	c.i += 2*len(id) + 1
}

// hexValues has the value of each lower-case hexadecimal digit, 0xff for everything else.
var hexValues = func() (t [256]byte) {
	for i := range t {
		t[i] = 0xff
	}
	for i, digit := range []byte("0123456789abcdef") {
		t[digit] = byte(i)
	}
	return t
}()
