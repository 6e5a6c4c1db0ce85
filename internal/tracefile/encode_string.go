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
)

// slack is the room that appendString keeps behind the bytes still to come: 64 bytes that all become
// two, and what a store writes too much.
const slack = 64 + 16

// appendString appends s as a JSON string. It looks at sixteen bytes at a time and stores them as
// they are, so that text without a quote, a backslash, a control character or a byte above ASCII
// costs a load, a store and a few instructions for each eight bytes.
func appendString(dst []byte, s string) []byte {
	if cap(dst)-len(dst) < len(s)+slack {
		dst = slices.Grow(dst, len(s)+slack)
	}
	buf, j := dst[:cap(dst)], len(dst)
	buf[j] = '"'
	j++
	for i := 0; i < len(s); {
		var n int
		if len(s)-i >= 16 {
			in, out := s[i:i+16], buf[j:j+16]
			a, b := load8(in), load8(in[8:])
			binary.LittleEndian.PutUint64(out, a)
			binary.LittleEndian.PutUint64(out[8:], b)
			inA, inB := specials(a), specials(b)
			if inA|inB == 0 {
				i += 16
				j += 16
				continue
			}
			n = bits.TrailingZeros64(inA) >> 3
			if inA == 0 {
				n += bits.TrailingZeros64(inB) >> 3
			}
		} else {
			word, size := load(s, i)
			binary.LittleEndian.PutUint64(buf[j:], word)
			special := specials(word)
			if special == 0 {
				i += size
				j += size
				continue
			}
			n = bits.TrailingZeros64(special) >> 3
		}
		i += n
		j += n
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

// load returns the next bytes of s, at most eight, and how many they are: the first in the lowest
// byte, blanks behind the last.
func load(s string, i int) (word uint64, n int) {
	if n = len(s) - i; n >= 8 {
		return load8(s[i:]), 8
	}
	return loadTail(s, i), n
}

func load8(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func load4(s string) uint64 {
	_ = s[3]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}

// loadTail returns the last bytes of s, from one to seven. Where it can it loads bytes that end
// with the string's last and shifts out those that were there before.
func loadTail(s string, i int) uint64 {
	n := len(s) - i
	blanks := uint64(' '*ones) << (8 * n)
	switch {
	case len(s) >= 8:
		return load8(s[len(s)-8:])>>(64-8*n) | blanks
	case n >= 4:
		return load4(s[i:]) | load4(s[len(s)-4:])<<(8*n-32) | blanks
	default:
		// One to three bytes: the first, the middle and the last may be the same one.
		return uint64(s[i]) | uint64(s[i+n/2])<<(n/2*8) | uint64(s[len(s)-1])<<(8*n-8) | blanks
	}
}
