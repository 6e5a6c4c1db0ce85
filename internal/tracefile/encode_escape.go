package tracefile

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
)

// blockSize is how many bytes are escaped without a branch between them.
const blockSize = 64

// escape is what an ASCII byte becomes in a JSON string: one or two bytes, in the order of memory, or
// longEscape bytes of which it holds the first two.
type escape struct {
	output uint16
	size   uint8
}

// longEscape is the size of \u00XX.
const longEscape = 6

// escapes has the escapes of the collector's marshaler. Neither the slash nor what is special in HTML
// is among them, because a line is not a page.
var escapes = func() (t [utf8.RuneSelf]escape) {
	for c := range uint16(len(t)) {
		t[c] = escape{c, 1}
		if c < ' ' {
			t[c] = escape{'\\' | 'u'<<8, longEscape}
		}
	}
	for c, letter := range map[byte]uint16{'"': '"', '\\': '\\', '\n': 'n', '\r': 'r', '\t': 't'} {
		t[c] = escape{'\\' | letter<<8, 2}
	}
	return t
}()

// pairs holds what two ASCII bytes become: two to four bytes of output in the lower half, their number
// in the upper half, which is longPair where one of the two needs \u00XX: more than a block can
// have. It takes 128 KiB, of which English touches a quarter.
var pairs = func() (t [1 << 14]uint64) {
	for i := range t {
		first, second := escapes[i&0x7f], escapes[i>>7]
		size := uint64(first.size) + uint64(second.size)
		if size > 4 {
			size = longPair
		}
		t[i] = size<<pairSize | uint64(second.output)<<(8*first.size)&math.MaxUint32 | uint64(first.output)
	}
	return t
}()

const (
	pairSize = 32
	longPair = 1 << 16
)

// putASCII writes the ASCII byte at s[i] and then block by block, while each is ASCII with something
// to escape in it. It returns the places behind what it read and wrote.
//
// Where the next quote stands cannot be predicted, and a wrong guess costs as much as writing twenty
// bytes. So in a block every byte goes through a table, and no branch depends on what is escaped.
func putASCII(buf []byte, j int, s string, i int) (int, int) {
	j += putByte(buf[j:], s[i])
	i++
	for len(s)-i >= blockSize && len(buf)-j >= len(s)-i+slack && load8(s[i:])&highBits == 0 {
		size := putBlock((*[2*blockSize + 4]byte)(buf[j:]), s[i:i+blockSize])
		i += min(size, blockSize)
		j += size
		if size <= blockSize {
			break
		}
	}
	return i, j
}

// putByte writes what an ASCII byte becomes and returns its size.
func putByte(out []byte, c byte) int {
	e := escapes[c&0x7f]
	binary.LittleEndian.PutUint16(out, e.output)
	if e.size == longEscape {
		const hexDigits = "0123456789abcdef"
		out = out[:longEscape]
		out[2], out[3] = '0', '0'
		out[4], out[5] = hexDigits[c>>4], hexDigits[c&0xf]
	}
	return int(e.size)
}

// putBlock writes a block and returns its size, or zero if a byte is not ASCII or needs \u00XX.
func putBlock(out *[2*blockSize + 4]byte, in string) int {
	var end, words uint64
	in = in[:blockSize]
	for k := 0; k < blockSize; k += 8 {
		word := load8(in[k:])
		words |= word
		// Two bytes of seven bits each make an index, in all four pairs at once.
		index := word&0x007f007f007f007f | word>>1&0x3f803f803f803f80
		end = putPair(out, end, pairs[index&0x3fff])
		end = putPair(out, end, pairs[index>>16&0x3fff])
		end = putPair(out, end, pairs[index>>32&0x3fff])
		end = putPair(out, end, pairs[index>>48&0x3fff])
	}
	if words&highBits != 0 || end >= longPair {
		return 0
	}
	return int(end)
}

func putPair(out *[2*blockSize + 4]byte, end, pair uint64) uint64 {
	at := end % (2 * blockSize)
	binary.LittleEndian.PutUint32(out[at:at+4], uint32(pair))
	return end + pair>>pairSize
}
