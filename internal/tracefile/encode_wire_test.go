package tracefile

import (
	"encoding/binary"
	"slices"
)

// Traces in protobuf that pdata's own methods cannot make.

// field is a field with a length, of the number num.
func field(num uint64, content ...[]byte) []byte {
	var body []byte
	for _, c := range content {
		body = append(body, c...)
	}
	out := binary.AppendUvarint(nil, num<<3|2)
	return append(binary.AppendUvarint(out, uint64(len(body))), body...)
}

func varint(num, value uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, num<<3), value)
}

// tracesWithAttribute is one span with one attribute, of which the KeyValue is given.
func tracesWithAttribute(keyValue ...[]byte) []byte {
	return field(1, field(2, field(2, field(9, keyValue...))))
}

// deprecatedTraces has its span in the field that OTLP used before 0.15.
func deprecatedTraces() []byte {
	span := field(2, field(5, []byte("old")))
	return field(1, field(3, []byte("schema")), field(1000, span))
}

// strindexTraces refers to a string table: instead of a key, of a value, and, which OTLP forbids, in
// addition to a key.
func strindexTraces() []byte {
	value := field(2, varint(8, 42))
	return append(tracesWithAttribute(varint(3, 7), value), tracesWithAttribute(field(1, []byte("k")), varint(3, 9), value)...)
}

// nestedTraces has a string inside of so many maps and arrays, by turns.
func nestedTraces(levels int) []byte {
	const mapField, arrayField, stringField = 6, 5, 1
	// From the inside out: the sizes; from the outside in: the bytes.
	type layer struct{ number, value, values, outer uint64 }
	size := uint64(len(field(stringField, []byte("leaf"))))
	layers := make([]layer, levels)
	for i := range layers {
		l := &layers[i]
		l.value = size
		if i%2 == 0 {
			l.number = arrayField
			l.values = l.value
		} else {
			// The value is field 2 of a KeyValue.
			l.number = mapField
			l.values = l.value + headerSize(2, l.value)
		}
		l.outer = l.values + headerSize(1, l.values)
		size = l.outer + headerSize(l.number, l.outer)
	}
	var out []byte
	for _, l := range slices.Backward(layers) {
		out = appendHeader(out, l.number, l.outer)
		out = appendHeader(out, 1, l.values)
		if l.number == mapField {
			out = appendHeader(out, 2, l.value)
		}
	}
	return tracesWithAttribute(field(2, append(out, field(stringField, []byte("leaf"))...)))
}

func appendHeader(dst []byte, num, size uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(dst, num<<3|2), size)
}

func headerSize(num, size uint64) uint64 {
	return uint64(len(appendHeader(nil, num, size)))
}
