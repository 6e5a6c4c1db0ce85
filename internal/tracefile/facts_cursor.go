package tracefile

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// cursor steps through a line of any JSON. At the first thing that is not JSON, or that it does not
// understand, it gives up. Each method but key and the end of an object or list expects its value behind
// white space that was stepped over.
type cursor struct{ canonical }

// space steps over white space.
func (c *cursor) space() {
	for c.s[c.i] <= ' ' && (c.s[c.i] == ' ' || c.s[c.i] == '\t' || c.s[c.i] == '\r') {
		c.i++
	}
}

// openObject begins an object and reports whether it has a field.
func (c *cursor) openObject() bool { return c.openGroup('{', '}') }

// openList begins a list and reports whether it has an item.
func (c *cursor) openList() bool { return c.openGroup('[', ']') }

func (c *cursor) openGroup(begin, end byte) bool {
	c.space()
	if c.s[c.i] != begin {
		c.fail()
		return false
	}
	c.i++
	c.space()
	if c.s[c.i] == end {
		c.i++
		return false
	}
	return true
}

// nextField steps behind a field's value and reports whether another one follows.
func (c *cursor) nextField() bool { return c.nextOf('}') }

// nextItem steps behind an item and reports whether another one follows.
func (c *cursor) nextItem() bool { return c.nextOf(']') }

func (c *cursor) nextOf(end byte) bool {
	c.space()
	switch c.s[c.i] {
	case ',':
		c.i++
		c.space()
		return true
	case end:
		c.i++
	default:
		c.fail()
	}
	return false
}

// key returns the key of a field and steps behind its colon. A key with an escape is none.
func (c *cursor) key() []byte {
	if c.s[c.i] != '"' {
		c.fail()
		return nil
	}
	start := c.i + 1
	i := start
	for {
		stops := stringStops(binary.LittleEndian.Uint64(c.s[i:]))
		if stops == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(stops) >> 3
		break
	}
	if c.s[i] != '"' {
		c.fail()
		return nil
	}
	c.i = i + 1
	c.space()
	if c.s[c.i] != ':' {
		c.fail()
		return nil
	}
	c.i++
	c.space()
	return c.s[start:i]
}

// text steps over a string.
func (c *cursor) text() bool {
	if c.s[c.i] == '"' {
		if end := skipText(c.s, c.i+1); end >= 0 {
			c.i = end
			return true
		}
	}
	c.fail()
	return false
}

// plainText returns a string that has no escape.
func (c *cursor) plainText() []byte {
	start := c.i + 1
	if !c.text() {
		return nil
	}
	text := c.s[start : c.i-1]
	if slices.Contains(text, '\\') {
		c.fail()
		return nil
	}
	return text
}

// id fills id from hexadecimal digits, or leaves it as it is where there are none.
func (c *cursor) id(id []byte) {
	text := c.plainText()
	if len(text) == 0 {
		return
	}
	if len(text) != 2*len(id) {
		c.fail()
		return
	}
	var wrong byte
	for i := range id {
		high, low := hexAnyCase[text[2*i]], hexAnyCase[text[2*i+1]]
		wrong |= high | low
		id[i] = high<<4 | low&0x0f
	}
	if wrong > 0x0f {
		c.fail()
	}
}

// quoted reports whether a number stands in quotes, and steps over the first.
func (c *cursor) quoted() bool { return c.accept(`"`) }

// unsigned reads a whole number, which may stand in quotes.
func (c *cursor) unsigned(most uint64) uint64 {
	quoted := c.quoted()
	n := c.digits()
	if quoted {
		c.expect(`"`)
	}
	if n > most {
		c.fail()
	}
	return n
}

// signed reads a whole number, which may stand in quotes.
func (c *cursor) signed() int64 {
	quoted := c.quoted()
	n := c.integer()
	if quoted {
		c.expect(`"`)
	}
	return n
}

// enumValue reads a number of an enum, or its name.
func (c *cursor) enumValue(values []string) int64 {
	if c.s[c.i] != '"' {
		n := c.integer()
		if n != int64(int32(n)) {
			c.fail()
		}
		return n
	}
	n := slices.Index(values, string(c.plainText()))
	if n < 0 {
		c.fail()
	}
	return int64(n)
}

// skipDouble steps over a number, or one of the three values that stand as strings.
func (c *canonical) skipDouble() {
	if c.accept(`"NaN"`) || c.accept(`"Infinity"`) || c.accept(`"-Infinity"`) {
		return
	}
	size := numberLength(c.s[c.i:])
	if size == 0 || !fitsFloat(c.s[c.i:c.i+size]) {
		c.fail()
		return
	}
	c.i += size
}
