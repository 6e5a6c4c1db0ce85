package tracefile

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// escapes holds the letter behind the backslash for each ASCII byte that JSON does not allow in a
// string; 'u' means \u00XX. They are those of the collector's marshaler: nothing else is escaped,
// neither the slash nor what is special in HTML, because a line is not a page.
var escapes = func() (t [utf8.RuneSelf]byte) {
	for c := range 0x20 {
		t[c] = 'u'
	}
	t['"'], t['\\'], t['\n'], t['\r'], t['\t'] = '"', '\\', 'n', 'r', 't'
	return t
}()

const hexDigits = "0123456789abcdef"

// slack is the room that appendString keeps behind the bytes still to come: a store of eight bytes
// of which one counts, and the longest escape.
const slack = 16

// appendString appends s as a JSON string. It looks at eight bytes at a time, stores them, and keeps
// as many as need no change: a run without a quote, a backslash, a control character or a byte above
// ASCII costs a load, a store and a few instructions for each eight bytes.
func appendString(dst []byte, s string) []byte {
	dst = slices.Grow(dst, len(s)+slack)
	buf, j := dst[:cap(dst)], len(dst)
	buf[j] = '"'
	j++
	for i := 0; i < len(s); {
		var word uint64
		n := len(s) - i
		if n >= 8 {
			word, n = load(s, i), 8
		} else {
			word = loadTail(s, i)
		}
		binary.LittleEndian.PutUint64(buf[j:], word)
		special := specials(word)
		if special == 0 {
			i += n
			j += n
			continue
		}
		n = bits.TrailingZeros64(special) >> 3
		i += n
		j += n
		if s[i] < utf8.RuneSelf {
			j = putEscape(buf, j, s[i])
			i++
		} else {
			i, j = putMultibyte(buf, j, s, i)
		}
		if len(buf)-j < len(s)-i+slack {
			dst = slices.Grow(buf[:j], len(s)-i+slack)
			buf = dst[:cap(dst)]
		}
	}
	buf[j] = '"'
	return buf[:j+1]
}

// load returns the eight bytes of s at i, the first in the lowest byte.
func load(s string, i int) uint64 {
	b := s[i : i+8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// loadTail returns the last bytes of s, fewer than eight, from i on, filled up with blanks.
func loadTail(s string, i int) uint64 {
	const blanks = ' ' * ones
	n := len(s) - i
	if len(s) >= 8 {
		shift := 8 * (8 - n)
		return load(s, len(s)-8)>>shift | blanks<<(8*n)
	}
	word := uint64(blanks)
	for k := len(s) - 1; k >= i; k-- {
		word = word<<8 | uint64(s[k])
	}
	return word
}

// specials has the highest bit of a byte set where that byte of word cannot be written as it is: a
// control character, a quote, a backslash, or a byte above ASCII. A borrow can set the bit of a byte
// above such a byte too, so only the lowest bit set, and none set, mean something.
func specials(word uint64) uint64 {
	const high = 0x80 * ones
	return (word | (word - ' '*ones) | ((word ^ '"'*ones) - ones) | ((word ^ '\\'*ones) - ones)) & high
}

// putEscape writes the escape of an ASCII byte and returns the place behind it.
func putEscape(buf []byte, j int, c byte) int {
	buf[j] = '\\'
	buf[j+1] = escapes[c]
	if escapes[c] != 'u' {
		return j + 2
	}
	copy(buf[j+2:], "00")
	buf[j+4] = hexDigits[c>>4]
	buf[j+5] = hexDigits[c&0xf]
	return j + 6
}
