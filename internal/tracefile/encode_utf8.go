package tracefile

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// putMultibyte copies the run of bytes above ASCII at s[i] and checks it on the way. It returns the
// places behind what it read and wrote: at the end of the run, or sooner, behind the first thing
// that became longer, so that the caller can make room. Chinese, Japanese and Korean take three
// loads, three stores and one test for each eight characters.
func putMultibyte(buf []byte, j int, s string, i int) (int, int) {
	for i < len(s) && s[i] >= utf8.RuneSelf {
		if len(s)-i >= 24 {
			in, out := s[i:i+24], buf[j:j+24]
			a, b, c := load8(in), load8(in[8:]), load8(in[16:])
			binary.LittleEndian.PutUint64(out, a)
			binary.LittleEndian.PutUint64(out[8:], b)
			binary.LittleEndian.PutUint64(out[16:], c)
			if n := plainPrefix(a, b, c); n > 0 {
				i += n
				j += n
				continue
			}
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
		j += copy(buf[j:], s[i:i+size])
		i += size
	}
	return i, j
}

// plainPrefix is how many of 24 bytes, three words, are characters of three bytes, 1110xxxx 10xxxxxx
// 10xxxxxx, that are known to be valid and need no escape. Not among them are those that begin with
// E0 (overlong forms), with ED (surrogates), or with E2 and end with A8 or A9 (the separators U+2028
// and U+2029).
//
// The first bytes of the eight characters stand at different places of the three words, so that one
// word holds them all; so do the last bytes, each two places, modulo eight, behind its first.
func plainPrefix(a, b, c uint64) int {
	const (
		marksA, formA = 0xc0f0c0c0f0c0c0f0, 0x80e08080e08080e0
		marksB, formB = 0xf0c0c0f0c0c0f0c0, 0xe08080e08080e080
		marksC, formC = 0xc0c0f0c0c0f0c0c0, 0x8080e08080e08080

		firstA, firstB, firstC = 0x00ff0000ff0000ff, 0xff0000ff0000ff00, 0x0000ff0000ff0000
		lastA, lastB, lastC    = 0x0000ff0000ff0000, 0x00ff0000ff0000ff, 0xff0000ff0000ff00

		nibbles = 0x0f * ones
		carry   = 0x7f * ones
	)
	first := (a&firstA | b&firstB | c&firstC) & nibbles
	last := bits.RotateLeft64(a&lastA|b&lastB|c&lastC, -16) & (0x3e * ones)
	// Adding 0x7f sets the high bit of each byte (below 0x40) that is not zero.
	plain := (first + carry) & (first ^ 0xd*ones + carry) & ((first ^ 0x2*ones + carry) | (last ^ 0x28*ones + carry))
	bad := ^plain & highBits
	a = a&marksA ^ formA | bad&firstA
	b = b&marksB ^ formB | bad&firstB
	c = c&marksC ^ formC | bad&firstC
	if a|b|c == 0 {
		return 24
	}
	at := bits.TrailingZeros64(a)
	if a == 0 {
		at += bits.TrailingZeros64(b)
		if b == 0 {
			at += bits.TrailingZeros64(c)
		}
	}
	return at / 24 * 3
}
