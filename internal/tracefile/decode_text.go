package tracefile

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// texts puts the strings of many spans side by side into blocks, so that a string costs no allocation of
// its own. A block lives as long as one of its strings.
type texts struct {
	scratch []byte
	block   strings.Builder
}

// blockBytes is the least size of a block: the strings of some fifty spans.
const blockBytes = 16 << 10

// keep copies text into a block and returns it as a string there.
func (t *texts) keep(text []byte) string {
	if t.block.Cap()-t.block.Len() < len(text) {
		t.block = strings.Builder{} // the strings in the old one go on living there
		t.block.Grow(max(blockBytes, len(text)))
	}
	at := t.block.Len()
	t.block.Write(text)
	return t.block.String()[at:]
}

// unescape returns the string that begins at s[start], whose first backslash is at s[i], and the place
// behind its closing quote, which is negative where it is not a string. A newline ends s, with at least
// eight bytes behind it.
func (t *texts) unescape(s []byte, start, i int) (string, int) {
	t.scratch = append(t.scratch[:0], s[start:i]...)
	buf := t.scratch
	for {
		// Room for a word, or for the longest character.
		if cap(buf)-len(buf) < 8 {
			buf = append(buf, "12345678"...)[:len(buf)]
		}
		word := binary.LittleEndian.Uint64(s[i:])
		binary.LittleEndian.PutUint64(buf[len(buf):len(buf)+8], word)
		n := bits.TrailingZeros64(stringStops(word)) >> 3
		buf = buf[:len(buf)+n]
		i += n
		if n == 8 {
			continue
		}
		switch s[i] {
		case '"':
			if t.scratch = buf; cap(buf) > 1<<20 {
				t.scratch = nil // blown up by one huge text
			}
			return t.keep(buf), i + 1
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

// unescaped has the character that a letter behind a backslash stands for.
var unescaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unicodeEscape reads \u and its four hexadecimal digits. It refuses the halves of characters above
// U+FFFF, which our encoder writes as they are: the stock unmarshaler reads such lines.
func unicodeEscape(s []byte) (rune, bool) {
	r, ok := unicodeUnit(s)
	return r, ok && (r < 0xd800 || r >= 0xe000)
}

// unicodeUnit reads \u and its four hexadecimal digits.
func unicodeUnit(s []byte) (rune, bool) {
	if len(s) < len(`\u0000`) || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	var r, wrong rune
	for _, c := range s[2:6] {
		digit := rune(hexAnyCase[c])
		wrong |= digit
		r = r<<4 | digit&0x0f
	}
	return r, wrong <= 0x0f
}

// hexAnyCase has the value of each hexadecimal digit, 0xff for everything else.
var hexAnyCase = func() (t [256]byte) {
	t = hexValues
	for i, digit := range []byte("ABCDEF") {
		t[digit] = byte(10 + i)
	}
	return t
}()
