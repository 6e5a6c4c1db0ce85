package tracefile

import (
	"strconv"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// Every field below stands behind a comma of its own, so that none needs to know whether it is its
// object's first. closeObject turns the first comma into the object's opening brace.

// closeObject makes an object of the fields that were appended since dst was start bytes long.
func closeObject(dst []byte, start int) []byte {
	if len(dst) == start {
		return append(dst, "{}"...)
	}
	dst[start] = '{'
	return append(dst, '}')
}

// appendItemStart appends what stands before item i of a list: the list's own start, or a comma.
func appendItemStart(dst []byte, i int, listStart string) []byte {
	if i == 0 {
		return append(dst, listStart...)
	}
	return append(dst, ',')
}

func appendText(dst []byte, key, s string) []byte {
	if s == "" {
		return dst
	}
	return appendString(append(dst, key...), s)
}

func appendCount(dst []byte, key string, n uint32) []byte {
	if n == 0 {
		return dst
	}
	return strconv.AppendUint(append(dst, key...), uint64(n), 10)
}

func appendEnum(dst []byte, key string, n int32) []byte {
	if n == 0 {
		return dst
	}
	return strconv.AppendInt(append(dst, key...), int64(n), 10)
}

func appendTime(dst []byte, key string, t pcommon.Timestamp) []byte {
	if t == 0 {
		return dst
	}
	return append(appendUint(append(dst, key...), uint64(t)), '"')
}

func appendTraceID(dst []byte, key string, id pcommon.TraceID) []byte {
	if id.IsEmpty() {
		return dst
	}
	dst = append(dst, key...)
	dst = appendHex(dst, [8]byte(id[:8]))
	dst = appendHex(dst, [8]byte(id[8:]))
	return append(dst, '"')
}

func appendSpanID(dst []byte, key string, id pcommon.SpanID) []byte {
	if id.IsEmpty() {
		return dst
	}
	return append(appendHex(append(dst, key...), id), '"')
}
