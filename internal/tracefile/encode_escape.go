package tracefile

import (
	"encoding/binary"
	"unicode/utf8"
)

// escapes holds what each ASCII byte that JSON does not allow in a string becomes, in the order of
// memory; those with a 'u' go on with the byte in hexadecimal. They are the escapes of the
// collector's marshaler; neither the slash nor what is special in HTML is among them, because a line
// is not a page.
var escapes = func() (t [utf8.RuneSelf]uint16) {
	for c := range ' ' {
		t[c] = '\\' | 'u'<<8
	}
	for c, letter := range map[byte]uint16{'"': '"', '\\': '\\', '\n': 'n', '\r': 'r', '\t': 't'} {
		t[c] = '\\' | letter<<8
	}
	return t
}()

// pairs holds what two ASCII bytes become: 16 to 32 bits of output in the lower half, their number
// in the upper half, or longPair where one of the two needs \u00XX. It takes 128 KiB, of which
// English touches a quarter.
var pairs = func() (t [1 << 14]uint64) {
	for i := range t {
		first, firstBits := escaped(byte(i & 0x7f))
		second, secondBits := escaped(byte(i >> 7))
		t[i] = (firstBits+secondBits)<<32 | second<<firstBits | first
		if firstBits+secondBits > 32 {
			t[i] = longPair
		}
	}
	return t
}()

const longPair = 1 << 63

// escaped is what an ASCII byte becomes and how many bits that has: 8, 16, or 48 for \u00XX, of
// which it holds the first 16.
func escaped(c byte) (output, size uint64) {
	switch e := escapes[c]; {
	case e == 0:
		return uint64(c), 8
	case e == '\\'|'u'<<8:
		return uint64(e), 48
	default:
		return uint64(e), 16
	}
}

// putASCII writes s from i on, where an ASCII byte stands that must be escaped: word by word while
// there is one in every 64 bytes, and that one byte at least. It returns the places behind what it
// read and wrote.
//
// Where the next quote stands cannot be predicted, and a wrong guess costs as much as writing twenty
// bytes. So every byte goes through a table, and nothing depends on which of them are escaped.
func putASCII(buf []byte, j int, s string, i int) (int, int) {
	first := i
	for len(s)-i >= 8 && len(buf)-j >= len(s)-i+slack {
		grown := j - i
		for range min(8, (len(s)-i)/8) {
			word := load8(s[i:])
			index := word&0x007f007f007f007f | word>>1&0x3f803f803f803f80
			a, b := pairs[index&0x3fff], pairs[index>>16&0x3fff]
			c, d := pairs[index>>32&0x3fff], pairs[index>>48&0x3fff]
			if (word&highBits)|(a|b|c|d)&longPair != 0 {
				return putOne(buf, j, s, i)
			}
			binary.LittleEndian.PutUint64(buf[j:], uint64(uint32(a))|uint64(uint32(b))<<(a>>32&63))
			j += int((a>>32 + b>>32) >> 3)
			binary.LittleEndian.PutUint64(buf[j:], uint64(uint32(c))|uint64(uint32(d))<<(c>>32&63))
			j += int((c>>32 + d>>32) >> 3)
			i += 8
		}
		if j-i == grown {
			break
		}
	}
	if i == first {
		return putOne(buf, j, s, i)
	}
	return i, j
}

// putOne writes the byte at s[i], which is ASCII, or nothing if it is not.
func putOne(buf []byte, j int, s string, i int) (int, int) {
	const hexDigits = "0123456789abcdef"
	c := s[i]
	if c >= utf8.RuneSelf {
		return i, j
	}
	switch e := escapes[c]; e {
	case 0:
		buf[j] = c
		return i + 1, j + 1
	case '\\' | 'u'<<8:
		j += copy(buf[j:], `\u00`)
		buf[j], buf[j+1] = hexDigits[c>>4], hexDigits[c&0xf]
		return i + 1, j + 2
	default:
		binary.LittleEndian.PutUint16(buf[j:], e)
		return i + 1, j + 2
	}
}
