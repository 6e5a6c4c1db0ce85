package tracefile

import (
	"encoding/binary"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"
)

// unescaper reads strings with escapes and puts the results of a line side by side into a few
// blocks, so that a text costs no allocation of its own.
type unescaper struct {
	scratch []byte // kept between lines
	block   strings.Builder
}

// blockBytes is the least size of a block: some ten texts of 2 KB.
const blockBytes = 16 << 10

// read returns the string that begins at s[start], whose first backslash is at s[i], and the place
// behind its closing quote, which is negative where it is not a string. Behind the string s has at
// least eight bytes, with a control character among them.
func (u *unescaper) read(s string, start, i int) (string, int) {
	u.scratch = append(u.scratch[:0], s[start:i]...)
	buf := u.scratch
	for {
		// Room for a word, or for the longest character.
		if cap(buf)-len(buf) < 8 {
			buf = append(buf, padding...)[:len(buf)]
		}
		word := load8(s[i:])
		binary.LittleEndian.PutUint64(buf[len(buf):len(buf)+8], word)
		n := bits.TrailingZeros64(stringStops(word)) >> 3
		buf = buf[:len(buf)+n]
		i += n
		if n == 8 {
			continue
		}
		switch s[i] {
		case '"':
			u.scratch = buf
			return u.keep(buf), i + 1
		case '\\':
			if e := unescaped[s[i+1]]; e != 0 {
				buf = append(buf, e)
				i += 2
				continue
			}
			r, ok := unicodeEscape(s[i:])
			if !ok {
				return "", -1
			}
			buf = utf8.AppendRune(buf, r)
			i += len(`\u0000`)
		default:
			return "", -1
		}
	}
}

// keep copies text into a block and returns it as a string there.
func (u *unescaper) keep(text []byte) string {
	if u.block.Cap()-u.block.Len() < len(text) {
		u.block = strings.Builder{} // the strings in the old one go on living there
		u.block.Grow(max(blockBytes, len(text)))
	}
	at := u.block.Len()
	u.block.Write(text)
	return u.block.String()[at:]
}

// release lets go of the last block, which the strings in it keep alive from here on, and of a
// scratch that one huge text has blown up.
func (u *unescaper) release() {
	u.block = strings.Builder{}
	if cap(u.scratch) > 1<<20 {
		u.scratch = nil
	}
}

// unescaped has the character that a letter behind a backslash stands for.
var unescaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unicodeEscape reads \uXXXX. Halves of a character are not among those that we write.
func unicodeEscape(s string) (rune, bool) {
	if len(s) < len(`\u0000`) || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	if err != nil || (n >= 0xd800 && n < 0xe000) {
		return 0, false
	}
	return rune(n), true
}
