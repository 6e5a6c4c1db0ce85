package tracefile

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
)

// appendUint appends n in decimal. It works on eight digits at a time, in one word, which takes a
// nanosecond timestamp (19 digits) in three steps instead of ten divisions.
func appendUint(dst []byte, n uint64) []byte {
	const e8 = 100_000_000
	if n < e8 {
		return appendLeadingDigits(dst, uint32(n))
	}
	high, low := n/e8, uint32(n%e8)
	if high < e8 {
		dst = appendLeadingDigits(dst, uint32(high))
	} else {
		dst = appendLeadingDigits(dst, uint32(high/e8))
		dst = binary.LittleEndian.AppendUint64(dst, eightDigits(uint32(high%e8)))
	}
	return binary.LittleEndian.AppendUint64(dst, eightDigits(low))
}

func appendInt(dst []byte, n int64) []byte {
	if n < 0 {
		// The two's complement of the lowest int64 is its absolute value as an uint64.
		return appendUint(append(dst, '-'), -uint64(n))
	}
	return appendUint(dst, uint64(n))
}

// appendLeadingDigits appends n, below 10^8, without leading zeros: all digits in one store, from
// which the zeros are shifted out.
func appendLeadingDigits(dst []byte, n uint32) []byte {
	if n < 10_000 {
		digits := fourDigits(n)
		// The lowest byte is the first digit. The last digit stays, so that zero is "0".
		zeros := bits.TrailingZeros32((digits^'0'*(ones&math.MaxUint32))|1<<24) &^ 7
		dst = binary.LittleEndian.AppendUint32(dst, digits>>(zeros&31))
		return dst[:len(dst)-zeros/8]
	}
	digits := eightDigits(n)
	zeros := bits.TrailingZeros64(digits^'0'*ones) &^ 7
	dst = binary.LittleEndian.AppendUint64(dst, digits>>(zeros&63))
	return dst[:len(dst)-zeros/8]
}

// eightDigits returns the eight decimal digits of n, below 10^8, as ASCII, the first in the lowest
// byte. It halves the number three times, each time in all lanes at once; the divisions by 100 and
// by 10 are multiplications that are exact for numbers this small.
func eightDigits(n uint32) uint64 {
	v := uint64(n/10_000) | uint64(n%10_000)<<32
	q := (v * 10486 >> 20) & 0x0000007f_0000007f
	v = q | (v-100*q)<<16
	q = (v * 103 >> 10) & 0x000f_000f_000f_000f
	return (q | (v-10*q)<<8) + '0'*ones
}

// fourDigits is eightDigits for four, of n below 10^4.
func fourDigits(n uint32) uint32 {
	q := n * 10486 >> 20
	v := q | (n-100*q)<<16
	q = (v * 103 >> 10) & 0x000f_000f
	return (q | (v-10*q)<<8) + '0'*(ones&math.MaxUint32)
}

// appendHex appends the sixteen hexadecimal digits of an id, eight at a time in one word.
func appendHex(dst []byte, id [8]byte) []byte {
	v := binary.LittleEndian.Uint64(id[:])
	dst = binary.LittleEndian.AppendUint64(dst, eightHexDigits(v&math.MaxUint32))
	return binary.LittleEndian.AppendUint64(dst, eightHexDigits(v>>32))
}

// eightHexDigits spreads the eight nibbles of v over eight bytes, in the order in which hexadecimal
// is written, and makes ASCII of them.
func eightHexDigits(v uint64) uint64 {
	v = (v | v<<16) & 0x0000ffff_0000ffff
	v = (v | v<<8) & 0x00ff_00ff_00ff_00ff
	v = (v>>4 | v<<8) & (0x0f * ones)
	letters := (v + 6*ones) >> 4 & ones
	return v + '0'*ones + letters*('a'-'0'-10)
}

// appendDouble appends f as the collector's marshaler does: the shortest decimal that reads back as
// the same double, and the three values that JSON has no number for as strings.
func appendDouble(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	abs := math.Abs(f)
	if abs < 1e9 {
		// At most fifteen digits, of which six are decimals, that read back as the same double are
		// the shortest: no two decimals of fifteen digits are the same double. Scores, ratios and
		// whole numbers mostly are of this kind.
		if micros := uint64(abs*1e6 + 0.5); micros > 0 && float64(micros)/1e6 == abs {
			return appendMicros(dst, micros, f < 0)
		}
	}
	format := byte('f')
	if abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, 64)
}

// appendMicros appends a number of millionths without trailing zeros.
func appendMicros(dst []byte, micros uint64, negative bool) []byte {
	if negative {
		dst = append(dst, '-')
	}
	dst = appendUint(dst, micros/1e6)
	fraction := uint32(micros % 1e6)
	if fraction == 0 {
		return dst
	}
	// Six digits and two zeros behind them, of which the last bytes are the highest ones.
	digits := eightDigits(fraction * 100)
	size := 8 - bits.LeadingZeros64(digits^'0'*ones)/8
	dst = binary.LittleEndian.AppendUint64(append(dst, '.'), digits)
	return dst[:len(dst)-8+size]
}
