package tracefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// The reasons for which a line is none of a trace file.
const (
	BadEmpty     = "empty"
	BadTooLong   = "too_long"
	BadNotUTF8   = "not_utf8"
	BadNotJSON   = "not_json"
	BadSeveral   = "several_objects"
	BadNotTraces = "not_traces"
	BadNoSpans   = "no_spans"
)

// BadLineError says why a line is none of a trace file.
type BadLineError struct {
	// Reason is one of the Bad constants.
	Reason string
	// At is where in the file it shows, in bytes from its start.
	At int64
	// Detail is what the decoder says; empty where Reason says it all.
	Detail string
}

// Error implements error.
func (err *BadLineError) Error() string {
	text := map[string]string{
		BadEmpty:     "an empty line",
		BadTooLong:   "longer than the limit, not read",
		BadNotUTF8:   "not UTF-8",
		BadNotJSON:   "not JSON",
		BadSeveral:   "more than one object on a line",
		BadNotTraces: "not OTLP/JSON traces",
		BadNoSpans:   "no span in it",
	}[err.Reason]
	if err.Detail != "" {
		text += ": " + err.Detail
	}
	return text
}

// scanDecode returns the traces of a line and what of it was lost, or why it is bad; At of the error
// counts from the line's start. It is as strict as the strictest common reader: the collector's own
// decoder takes broken texts.
func scanDecode(d *Decoder, line []byte) (ptrace.Traces, int, *BadLineError) {
	td := ptrace.NewTraces()
	if len(bytes.TrimSpace(line)) == 0 {
		return td, 0, &BadLineError{Reason: BadEmpty}
	}
	valid := utf8.Valid(line)
	if valid && d.canonical.read(td.ResourceSpans(), line) {
		return td, 0, noSpans(td)
	}
	if !json.Valid(line) {
		return td, 0, notJSON(line)
	}
	if !valid {
		return td, 0, &BadLineError{Reason: BadNotUTF8, At: notUTF8At(line)}
	}
	td = ptrace.NewTraces()
	lost, err := appendForeign(td.ResourceSpans(), line)
	if err != nil {
		return td, 0, &BadLineError{Reason: BadNotTraces}
	}
	if lost > 0 && td.SpanCount() == 0 {
		return td, lost, &BadLineError{Reason: BadNotTraces, Detail: "no span in it can be read"}
	}
	return td, lost, noSpans(td)
}

// Refused returns why the collector's own decoder, and so many a reader, takes nothing of a good line
// of which a part was lost; nil when it passes over that part too.
func (l *ScannedLine) Refused() error {
	if l.Lost == 0 {
		return nil
	}
	_, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(l.Data)
	if err == nil {
		return nil
	}
	// What follows is a part of the line, so of somebody's data.
	detail, _, _ := strings.Cut(err.Error(), ", error found in #")
	return errors.New(detail)
}

func noSpans(td ptrace.Traces) *BadLineError {
	if td.SpanCount() == 0 {
		return &BadLineError{Reason: BadNoSpans}
	}
	return nil
}

// notJSON finds the place where a line stops to be JSON.
func notJSON(line []byte) *BadLineError {
	bad := &BadLineError{Reason: BadNotJSON}
	var skipped json.RawMessage
	err := json.Unmarshal(line, &skipped)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		bad.At, bad.Detail = max(0, syntax.Offset-1), syntax.Error()
		if strings.HasPrefix(bad.Detail, "invalid character '{' after top-level value") {
			bad.Reason, bad.Detail = BadSeveral, ""
		}
	}
	return bad
}

func notUTF8At(line []byte) int64 {
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRune(line[i:])
		if r == utf8.RuneError && size == 1 {
			return int64(i)
		}
		i += size
	}
	return 0
}
