package tracefile

import (
	"fmt"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// A value may hold arrays and maps inside each other: 8 MiB of protobuf hold some 800,000 levels.
const (
	// maxDepth is how many arrays and maps inside each other are written as such; what is nested
	// deeper becomes a string. Maps in an event's attribute then reach level 124 of the line, and
	// level 91 of the same data in protobuf. Measured limits: jq 1.6 refuses the whole line from the
	// 35th map on, Python's json from the 246th; serde_json stops at level 128, and protobuf in C++,
	// Java and Python at level 100.
	maxDepth = 28
	// maxTextDepth is how many levels are kept inside such a string. It bounds the stack.
	maxTextDepth = 1000
)

var tooDeep = fmt.Sprintf("[nested deeper than %d levels]", maxTextDepth)

// appendAttributes appends the field `attributes`, behind a comma, if there are any.
func (e *Encoder) appendAttributes(dst []byte, m pcommon.Map) []byte {
	if m.Len() == 0 {
		return dst
	}
	return e.appendKeyValues(append(dst, `,"attributes":`...), m, 0)
}

// appendKeyValues appends the list of the entries of m, which is not empty. Keys that are there
// twice are written twice, as the collector's marshaler does. Each entry begins with a comma, of
// which the first becomes the list's bracket.
func (e *Encoder) appendKeyValues(dst []byte, m pcommon.Map, depth int) []byte {
	start, i := len(dst), 0
	for k, v := range m.All() {
		switch {
		case k == "":
			dst = append(dst, `,{"value":`...)
			dst = e.appendValue(dst, v, depth)
			dst = appendEnum(dst, `,"keyStrindex":`, keyStrindex(m, i))
			dst = append(dst, '}')
		case v.Type() == pcommon.ValueTypeStr:
			dst = appendString(append(dst, `,{"key":`...), k)
			dst = appendString(append(dst, `,"value":{"stringValue":`...), v.Str())
			dst = append(dst, "}}"...)
		default:
			dst = appendString(append(dst, `,{"key":`...), k)
			dst = e.appendValue(append(dst, `,"value":`...), v, depth)
			dst = append(dst, '}')
		}
		i++
	}
	dst[start] = '['
	return append(dst, ']')
}

// appendValue appends a value that is inside depth arrays and maps.
func (e *Encoder) appendValue(dst []byte, v pcommon.Value, depth int) []byte {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		dst = append(dst, `{"stringValue":`...)
		dst = appendString(dst, v.Str())
	case pcommon.ValueTypeInt:
		dst = append(dst, `{"intValue":"`...)
		dst = appendInt(dst, v.Int())
		dst = append(dst, '"')
	case pcommon.ValueTypeBool:
		if v.Bool() {
			return append(dst, `{"boolValue":true}`...)
		}
		return append(dst, `{"boolValue":false}`...)
	case pcommon.ValueTypeDouble:
		dst = append(dst, `{"doubleValue":`...)
		dst = appendDouble(dst, v.Double())
	case pcommon.ValueTypeBytes:
		dst = append(dst, `{"bytesValue":"`...)
		dst = appendBase64(dst, v.Bytes())
		dst = append(dst, '"')
	case pcommon.ValueTypeSlice, pcommon.ValueTypeMap:
		return e.appendNested(dst, v, depth)
	default:
		return appendEmptyValue(dst, v)
	}
	return append(dst, '}')
}

// appendNested appends an array or a map that is inside depth others, if that is not too deep.
func (e *Encoder) appendNested(dst []byte, v pcommon.Value, depth int) []byte {
	switch depth {
	case maxDepth:
		return e.appendFlattened(dst, v)
	case maxTextDepth:
		dst = append(dst, `{"stringValue":`...)
		dst = appendString(dst, tooDeep)
		return append(dst, '}')
	}
	return e.appendContainer(dst, v, depth)
}

func (e *Encoder) appendContainer(dst []byte, v pcommon.Value, depth int) []byte {
	if v.Type() == pcommon.ValueTypeMap {
		dst = append(dst, `{"kvlistValue":{`...)
		if m := v.Map(); m.Len() > 0 {
			dst = append(dst, `"values":`...)
			dst = e.appendKeyValues(dst, m, depth+1)
		}
		return append(dst, "}}"...)
	}
	dst = append(dst, `{"arrayValue":{`...)
	if values := v.Slice(); values.Len() > 0 {
		for i := range values.Len() {
			dst = appendItemStart(dst, i, `"values":[`)
			dst = e.appendValue(dst, values.At(i), depth+1)
		}
		dst = append(dst, ']')
	}
	return append(dst, "}}"...)
}

// appendFlattened appends v as a string that holds its JSON.
func (e *Encoder) appendFlattened(dst []byte, v pcommon.Value) []byte {
	e.flattened++
	dst = append(dst, `{"stringValue":`...)
	start := len(dst)
	dst = e.appendContainer(dst, v, maxDepth)
	text := string(dst[start:])
	dst = appendString(dst[:start], text)
	return append(dst, '}')
}

// appendBase64 appends b in base64. pdata hands out either single bytes or a copy, and a copy would be
// an allocation, so the standard library's encoder cannot be used.
func appendBase64(dst []byte, b pcommon.ByteSlice) []byte {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	i, n := 0, b.Len()
	dst = slices.Grow(dst, (n+2)/3*4)
	for ; n-i >= 3; i += 3 {
		v := uint32(b.At(i))<<16 | uint32(b.At(i+1))<<8 | uint32(b.At(i+2))
		dst = append(dst, alphabet[v>>18], alphabet[v>>12&63], alphabet[v>>6&63], alphabet[v&63])
	}
	switch n - i {
	case 1:
		v := uint32(b.At(i)) << 16
		dst = append(dst, alphabet[v>>18], alphabet[v>>12&63], '=', '=')
	case 2:
		v := uint32(b.At(i))<<16 | uint32(b.At(i+1))<<8
		dst = append(dst, alphabet[v>>18], alphabet[v>>12&63], alphabet[v>>6&63], '=')
	}
	return dst
}
