package tracefile

import (
	"encoding/binary"
	"unicode/utf8"
)

// putMultibyte copies the run of bytes above ASCII at s[i] and checks it on the way. It returns the
// places behind what it read and wrote: at the end of the run, or sooner, behind the first thing
// that became longer, so that the caller can make room. Two characters of three bytes (Chinese,
// Japanese, Korean) take one load, one store and two tests.
func putMultibyte(buf []byte, j int, s string, i int) (int, int) {
	for i < len(s) && s[i] >= utf8.RuneSelf {
		if len(s)-i >= 8 {
			const (
				marks     = 0x0000_c0c0f0_c0c0f0
				threeEach = 0x0000_8080e0_8080e0
			)
			word := load(s, i)
			if word&marks == threeEach && plainLead(word) && plainLead(word>>24) {
				binary.LittleEndian.PutUint64(buf[j:], word)
				i += 6
				j += 6
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

// plainLead says whether the lowest byte, which is 0xE0 to 0xEF, may be followed by any two
// continuation bytes. Left out are E0 (overlong forms), ED (surrogates) and E2 (the separators
// U+2028 and U+2029, which are escaped).
func plainLead(word uint64) bool {
	const plain = 1<<16 - 1 - (1<<0x0 | 1<<0x2 | 1<<0xd)
	return plain>>(word&0xf)&1 != 0
}
