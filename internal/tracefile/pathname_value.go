package tracefile

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

const (
	// pathEmpty stands for an empty value, which would be no name at all.
	pathEmpty = "%empty"

	// pathShortened comes before the hash of a value that is too long for a name.
	pathShortened = "%-"

	// pathHashDigits is how much of a SHA-256 stands in a shortened name, 160 bits: two of the runs
	// of all times have the same with a chance of 1e-30, and nobody can make two on purpose.
	pathHashDigits = 40
)

// EncodePathValue returns value as a part of a file name of at most `most` bytes (at least 43).
//
// Lower case letters, digits, `_`, `.` and `-` stay, the last two not at the beginning, and `.` not at
// the end; every other byte becomes % and two hexadecimal digits in lower case, as in URLs. That makes
// upper case letters `%41` to `%5a`: names that differ in case only are one name on some file systems.
// So no value leaves its folder, is hidden, or collides with another. What is longer than most is cut
// off behind a whole character, and `%-` with the first 40 digits of the SHA-256 of the value follows; an empty value is
// `%empty`.
func EncodePathValue(value string, most int) string {
	return encodePathValue(value, most, false)
}

// encodePathValue encodes the digits, too, with which a time could begin, where noTime is set.
func encodePathValue(value string, most int, noTime bool) string {
	if value == "" {
		return pathEmpty
	}
	plain := len(value) <= most && !noTime
	for i := 0; plain && i < len(value); i++ {
		plain = pathPlain(value, i)
	}
	if plain {
		return value
	}
	room := most - len(pathShortened) - pathHashDigits
	name := make([]byte, 0, 3*len(value))
	cut := 0  // the end of what stays of a name that is too long, never within a character
	next := 0 // where the next character begins; a byte that is no UTF-8 is one by itself
	for i := range len(value) {
		c := value[i]
		if i == next {
			_, size := utf8.DecodeRuneInString(value[i:])
			next += size
		}
		switch {
		case !pathPlain(value, i), noTime && c >= '0' && c <= '9' && (i == 0 || value[i-1] == '-'):
			name = append(name, '%', hexDigits[c>>4], hexDigits[c&15])
		default:
			name = append(name, c)
		}
		if i+1 == next && len(name) <= room {
			cut = len(name)
		}
	}
	if len(name) <= most {
		return string(name)
	}
	sum := sha256.Sum256([]byte(value))
	return string(name[:cut]) + pathShortened + hex.EncodeToString(sum[:])[:pathHashDigits]
}

const hexDigits = "0123456789abcdef"

// pathPlain reports whether the byte at i stands for itself in a name.
func pathPlain(value string, i int) bool {
	switch c := value[i]; {
	case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_':
		return true
	case c == '-':
		return i > 0
	case c == '.':
		return i > 0 && i < len(value)-1
	}
	return false
}

// DecodePathValue returns the value of a name that EncodePathValue made; ok is false for another one.
// Of a shortened name it is how the value begins: the whole one stands on the spans in the file.
func DecodePathValue(name string) (value string, shortened, ok bool) {
	if name == pathEmpty {
		return "", false, true
	}
	if head, hash, cut := strings.Cut(name, pathShortened); cut {
		for i := range len(hash) {
			if !strings.Contains(hexDigits, hash[i:i+1]) {
				return "", false, false
			}
		}
		value, ok = unescapePath(name, len(head))
		return value, true, ok && len(hash) == pathHashDigits
	}
	value, ok = unescapePath(name, len(name))
	return value, false, ok && value != ""
}

// unescapePath takes back the escapes in the first n bytes of a name. Whether what is escaped had to be
// is the caller's to check.
func unescapePath(name string, n int) (string, bool) {
	value := make([]byte, 0, n)
	for i := 0; i < n; i++ {
		c := name[i]
		switch {
		case c != '%':
			if !pathPlain(name, i) {
				return "", false
			}
		case i+2 >= n:
			return "", false
		default:
			high, low := strings.IndexByte(hexDigits, name[i+1]), strings.IndexByte(hexDigits, name[i+2])
			if high < 0 || low < 0 {
				return "", false
			}
			c = byte(high<<4 | low)
			i += 2
		}
		value = append(value, c)
	}
	return string(value), true
}
