package tracefile

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// putMultibyte copies the run of bytes above ASCII at s[i] and checks it on the way. It returns the
// places behind what it read and wrote: at the end of the run, or sooner, behind the first thing
// that became longer, so that the caller can make room. A single ASCII byte, such as a blank or a
// newline, does not end a run.
func putMultibyte(buf []byte, j int, s string, i int) (int, int) {
	for i < len(s) {
		if c := s[i]; c < utf8.RuneSelf {
			if i+1 == len(s) || s[i+1] < utf8.RuneSelf || len(buf)-j < len(s)-i+slack/2 {
				break
			}
			j += putByte(buf[j:], c)
			i++
		}
		n := 0
		switch rest := s[i:]; {
		case len(rest) < 8:
		case rest[0] < 0xe0:
			word := load8(rest)
			binary.LittleEndian.PutUint64(buf[j:], word)
			n = twoBytePrefix(word)
		case len(rest) >= 24:
			n = putThreeByte(buf[j:], rest)
		default:
			word := load8(rest)
			binary.LittleEndian.PutUint64(buf[j:], word)
			n = threeBytePrefix(word, 0, 0)
		}
		i += n
		j += n
		if n > 0 {
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return i + 1, j + copy(buf[j:], "\uFFFD")
		case r == '\u0085':
			return i + size, j + copy(buf[j:], `\u0085`)
		case r == '\u2028':
			return i + size, j + copy(buf[j:], `\u2028`)
		case r == '\u2029':
			return i + size, j + copy(buf[j:], `\u2029`)
		}
		for _, c := range []byte(s[i : i+size]) {
			buf[j] = c
			j++
		}
		i += size
	}
	return i, j
}

// twoBytePrefix is how many of eight bytes are characters of two bytes, 110xxxxx 10xxxxxx, that are
// valid and need no escape. Not among them are those that begin with C0 or C1 (overlong forms), or
// with C2 (U+0085 is escaped).
func twoBytePrefix(word uint64) int {
	const marks, form = 0xc0e0c0e0c0e0c0e0, 0x80c080c080c080c0
	// Adding 0x7d sets the high bit of each five bits that are three or more.
	bad := ^(word&0x001f001f001f001f + 0x007d007d007d007d) & 0x0080008000800080
	return bits.TrailingZeros64(word&marks^form|bad) / 16 * 2
}

// In 24 bytes, three words, eight characters of three bytes, 1110xxxx 10xxxxxx 10xxxxxx, have their
// first bytes at different places of the words, so that one word can hold the lower halves of them
// all; so do the last bytes, each two places, modulo eight, behind its first.
const (
	marksA, formA = 0xc0f0c0c0f0c0c0f0, 0x80e08080e08080e0
	marksB, formB = 0xf0c0c0f0c0c0f0c0, 0xe08080e08080e080
	marksC, formC = 0xc0c0f0c0c0f0c0c0, 0x8080e08080e08080

	firstA, firstB, firstC = 0x000f00000f00000f, 0x0f00000f00000f00, 0x00000f00000f0000
	lastA, lastB, lastC    = 0x00003e00003e0000, 0x003e00003e00003e, 0x3e00003e00003e00
	highA, highB, highC    = 0x0080000080000080, 0x8000008000008000, 0x0000800000800000
)

// putThreeByte copies characters of three bytes, eight with each turn, until it meets another
// character or the last 23 bytes, and returns how many bytes it copied. It writes up to 21 more.
func putThreeByte(buf []byte, s string) int {
	n := 0
	for len(s)-n >= 24 {
		in, out := s[n:n+24], buf[n:n+24]
		a, b, c := load8(in), load8(in[8:]), load8(in[16:])
		binary.LittleEndian.PutUint64(out, a)
		binary.LittleEndian.PutUint64(out[8:], b)
		binary.LittleEndian.PutUint64(out[16:], c)
		first := a&firstA | b&firstB | c&firstC
		form := (a&marksA ^ formA) | (b&marksB ^ formB) | (c&marksC ^ formC)
		if form|^(nonZero(first)&nonZero(first^0x2*ones)&nonZero(first^0xd*ones))&highBits == 0 {
			n += 24
			continue
		}
		size := threeBytePrefix(a, b, c)
		n += size
		if size < 24 {
			break
		}
	}
	return n
}

// threeBytePrefix is how many of 24 bytes are characters of three bytes that are known to be valid and
// need no escape. Not among them are those that begin with E0 (overlong forms), with ED (surrogates),
// or with E2 and end with A8 or A9 (the separators U+2028 and U+2029).
func threeBytePrefix(a, b, c uint64) int {
	first := a&firstA | b&firstB | c&firstC
	last := bits.RotateLeft64(a&lastA|b&lastB|c&lastC, -16)
	bad := ^(nonZero(first) & nonZero(first^0xd*ones) & (nonZero(first^0x2*ones) | nonZero(last^0x28*ones)))
	a = a&marksA ^ formA | bad&highA
	b = b&marksB ^ formB | bad&highB
	c = c&marksC ^ formC | bad&highC
	// The first word with something else in it, chosen without a branch: where a run of characters
	// ends cannot be predicted.
	word, before := c, 128
	if b != 0 {
		word = b
	}
	if b != 0 {
		before = 64
	}
	if a != 0 {
		word = a
	}
	if a != 0 {
		before = 0
	}
	return (before + bits.TrailingZeros64(word)) / 24 * 3
}

// nonZero sets the high bit of each byte, below 0x80, that is not zero.
func nonZero(word uint64) uint64 {
	return word + 0x7f*ones
}
