package runfilereceiver

import (
	"bytes"
	"errors"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

var (
	// errNotJSON: the line is no JSON object, or more than one. It may be another one when it is
	// read again.
	errNotJSON = errors.New("the line is not one JSON object of traces")
	// errNotTraces: the line is JSON of another kind.
	errNotTraces = errors.New("the line has no resourceSpans")
)

// decodeLine returns the traces of one line. skipped counts what of a good line could not be kept.
func decodeLine(line []byte) (td ptrace.Traces, skipped int, err error) {
	// The unmarshaler ignores what follows the first object: a line that a crash had torn at just
	// its end, glued to the next one, would lose the second without a word.
	if end := objectEnd(line); end < 0 || len(bytes.TrimSpace(line[end:])) > 0 {
		return ptrace.Traces{}, 0, errNotJSON
	}
	td, err = (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(line)
	if err != nil {
		return ptrace.Traces{}, 0, errors.Join(errNotJSON, err)
	}
	// Quotes within a text are escaped: these bytes can only be a key.
	if td.ResourceSpans().Len() == 0 && !bytes.Contains(line, []byte(`"resourceSpans"`)) {
		return ptrace.Traces{}, 0, errNotTraces
	}
	// The name of scopeSpans until OTLP 0.15: the unmarshaler ignores it.
	return td, bytes.Count(line, []byte(`"instrumentationLibrarySpans"`)), nil
}

// objectEnd returns the offset after the object with which a line begins, -1 when it has no end.
func objectEnd(line []byte) int {
	depth := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '{', '[':
			depth++
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
