package runfileexporter

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// encoder turns traces into lines, each with its newline, that are valid until its next call.
type encoder interface {
	Encode(td ptrace.Traces) ([][]byte, error)
}

// newEncoder is the one place that says which encoder is used.
// TODO(encoder): return &tracefile.Encoder{MaxLineBytes: maxLineBytes}, and lineTooLongError is
// tracefile.LineTooLongError; the rest of this file goes.
func newEncoder(maxLineBytes int) encoder { return &stockEncoder{limit: maxLineBytes} }

type stockEncoder struct{ limit int }

type lineTooLongError struct{ Spans, Bytes, Limit int }

func (e *lineTooLongError) Error() string {
	return fmt.Sprintf("%d spans need a line of %d bytes, max_line_bytes is %d", e.Spans, e.Bytes, e.Limit)
}

func (e *stockEncoder) Encode(td ptrace.Traces) ([][]byte, error) {
	if td.SpanCount() == 0 {
		return nil, nil
	}
	line, err := (&ptrace.JSONMarshaler{}).MarshalTraces(td)
	if err != nil {
		return nil, err
	}
	if len(line)+1 > e.limit {
		return nil, &lineTooLongError{Spans: td.SpanCount(), Bytes: len(line) + 1, Limit: e.limit}
	}
	return [][]byte{append(line, '\n')}, nil
}
