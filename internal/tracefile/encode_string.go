package tracefile

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"
)

const (
	ones     = 0x0101010101010101
	highBits = 0x80 * ones
	blanks   = ' ' * ones
)

// slack is the room that appendString keeps behind the bytes still to come: a block of which every
// byte becomes two, and what a store writes too much.
const slack = blockSize + 16

// appendString appends s as a JSON string. It looks at eight bytes at a time and stores them as they
// are, so that text without a quote, a backslash, a control character or a byte above ASCII costs a
// load, a store and a few instructions for each eight bytes. The last bytes are loaded so that they
// end with the string, over some that were seen before, which needs no loop over single bytes.
func appendString(dst []byte, s string) []byte {
	n := len(s)
	if cap(dst)-len(dst) < n+slack {
		dst = slices.Grow(dst, n+slack)
	}
	buf := dst[len(dst) : len(dst)+n+2]
	buf[0], buf[n+1] = '"', '"'
	out := buf[1 : n+1]
	var special uint64
	switch {
	case n >= 16:
		for i := 0; i < n-16; i += 16 {
			from, to := s[i:i+16], out[i:i+16]
			a, b := load8(from), load8(from[8:])
			binary.LittleEndian.PutUint64(to, a)
			binary.LittleEndian.PutUint64(to[8:], b)
			if specials(a)|specials(b) != 0 {
				return appendSpecial(dst, s, i)
			}
		}
		from, to := s[n-16:], out[n-16:n]
		a, b := load8(from), load8(from[8:])
		binary.LittleEndian.PutUint64(to, a)
		binary.LittleEndian.PutUint64(to[8:], b)
		if specials(a)|specials(b) != 0 {
			return appendSpecial(dst, s, (n-1)&^15)
		}
	case n >= 8:
		first, last := load8(s), load8(s[n-8:])
		binary.LittleEndian.PutUint64(out, first)
		binary.LittleEndian.PutUint64(out[n-8:], last)
		special = specials(first) | specials(last)
	case n >= 4:
		first, last := load4(s), load4(s[n-4:])
		binary.LittleEndian.PutUint32(out, first)
		binary.LittleEndian.PutUint32(out[n-4:], last)
		special = specials(uint64(first) | uint64(last)<<32)
	default:
		word := uint64(blanks)
		for i := range n {
			out[i] = s[i]
			word = word<<8 | uint64(s[i])
		}
		special = specials(word)
	}
	if special != 0 {
		return appendSpecial(dst, s, 0)
	}
	return dst[:len(dst)+n+2]
}

// appendSpecial is appendString for the rest of a string that has something to escape or to check,
// of which the first i bytes are in place already, behind the opening quote.
func appendSpecial(dst []byte, s string, i int) []byte {
	buf, j := dst[:cap(dst)], len(dst)+1+i
	for i < len(s) {
		if len(s)-i >= 8 {
			word := load8(s[i:])
			binary.LittleEndian.PutUint64(buf[j:], word)
			n := bits.TrailingZeros64(specials(word)) >> 3
			i += n
			j += n
			if n == 8 {
				continue
			}
		}
		if s[i] < utf8.RuneSelf {
			i, j = putASCII(buf, j, s, i)
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

// specials has the highest bit of a byte set where that byte of word cannot be written as it is: a
// control character, a quote, a backslash, or a byte above ASCII. A borrow can set the bit of a byte
// above such a byte too, so only the lowest bit set, and none set, mean something.
func specials(word uint64) uint64 {
	// Exchanging 0x20 and 0x22, blank and quote, puts the quote right behind the control characters.
	return (word | (word ^ 0x02*ones - 0x21*ones) | (word ^ '\\'*ones - ones)) & highBits
}

func load8(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func load4(s string) uint32 {
	_ = s[3]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}
