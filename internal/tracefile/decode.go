package tracefile

import (
	"bytes"
	"errors"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

var (
	// ErrNotJSON says that a line is not one JSON object. On a network file system it may be one
	// when it is read again.
	ErrNotJSON = errors.New("the line is not one JSON object of traces")
	// ErrNotTraces says that a line is a JSON object of another kind.
	ErrNotTraces = errors.New("the line has no resourceSpans")
)

// Decoder turns lines back into traces. The zero value is ready for use. It must not be used by two
// goroutines at once.
//
// Lines in the form that [Encoder] and the collector's ptrace.JSONMarshaler write are read by code
// of its own, in about a third of the time of ptrace.JSONUnmarshaler and with the same result
// (docs/adr/0009-own-trace-decoder.md). All others are read by that one; see [Decoder.Append].
type Decoder struct {
	canonical canonical
}

// Append decodes a line, with or without the newline at its end, and appends its resources to rss.
// The line is not kept. Where its capacity goes on behind it, up to 16 bytes there are read too, whatever
// they are: nobody may be writing to them.
//
// A line of another writer may use OTLP's older names (instrumentationLibrarySpans), ids in base64,
// and fields that this version does not know: lost is the number of fields, resources, scopes and
// spans of it that could not be kept. The error is ErrNotJSON or ErrNotTraces, perhaps with details,
// and rss is then as it was.
func (d *Decoder) Append(rss ptrace.ResourceSpansSlice, line []byte) (lost int, err error) {
	before := rss.Len()
	if d.canonical.read(rss, line) {
		return 0, nil
	}
	// What was read before the line turned out to be another writer's goes again.
	i := 0
	rss.RemoveIf(func(ptrace.ResourceSpans) bool {
		i++
		return i > before
	})
	return appendForeign(rss, line)
}

// appendForeign decodes a line that is not in our own form.
func appendForeign(rss ptrace.ResourceSpansSlice, line []byte) (lost int, err error) {
	// The unmarshaler ignores what follows the first object: a line that a crash had torn at just
	// its end, glued to the next one, would lose the second without a word.
	if end := objectEnd(line); end < 0 || len(bytes.TrimSpace(line[end:])) > 0 {
		return 0, ErrNotJSON
	}
	u := ptrace.JSONUnmarshaler{DisallowUnknownFields: true}
	td, err := u.UnmarshalTraces(line)
	if err != nil {
		td, lost, err = salvage(line)
	}
	if err != nil {
		return 0, err
	}
	// Quotes within a text are escaped: these bytes can only be a key.
	if td.ResourceSpans().Len() == 0 && !bytes.Contains(line, []byte(`"resourceSpans"`)) {
		return 0, ErrNotTraces
	}
	td.ResourceSpans().MoveAndAppendTo(rss)
	return lost, nil
}

// maxJSONDepth bounds the nesting of a foreign line: the unmarshaler calls itself for each level, and
// some millions of them, in a line of 100 MB, end the process with a stack overflow. 10,000 is the
// limit of encoding/json.
const maxJSONDepth = 10_000

// objectEnd returns the offset behind the object with which a line begins, -1 when it has no end or
// is nested too deep.
func objectEnd(line []byte) int {
	depth := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '{', '[':
			if depth++; depth > maxJSONDepth {
				return -1
			}
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"':
			n := textLength(line[i+1:])
			if n < 0 {
				return -1
			}
			i += n
		}
		if depth == 0 && !isSpace(line[i]) {
			return -1
		}
	}
	return -1
}

// textLength returns the length of a JSON text with its closing quote, -1 when it has none.
func textLength(text []byte) int {
	for from := 0; ; {
		i := bytes.IndexByte(text[from:], '"')
		if i < 0 {
			return -1
		}
		at, backslashes := from+i, 0
		for at-1-backslashes >= 0 && text[at-1-backslashes] == '\\' {
			backslashes++
		}
		if backslashes%2 == 0 {
			return at + 1
		}
		from = at + 1
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
