package runfilereceiver

import (
	"bytes"
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/runspan/runspan/internal/tracefile"
)

// badLine is a line that could not be decoded: batch.Data[from:to].
type badLine struct {
	from, to int64
	err      error
}

// decode returns the spans of a batch. A line that is not JSON is read again, from the newly opened
// file, for some time before it is stepped over: network file systems show pages out of order. The
// error is that of ctx.
func (r *runFileReceiver) decode(ctx context.Context, batch *tracefile.TailBatch) (ptrace.Traces, error) {
	td := ptrace.NewTraces()
	bad := r.decodeLines(ctx, td, batch.Data, 0)
	for _, pause := range r.timing.rereads {
		if !worthReading(bad) {
			break
		}
		if err := sleep(ctx, pause); err != nil {
			return td, err
		}
		var still []badLine
		for _, line := range bad {
			data, err := batch.ReadAgain(line.from, line.to)
			if err != nil || errors.Is(line.err, tracefile.ErrNotTraces) {
				still = append(still, line)
				continue
			}
			// Zeros can hide line ends: what was one line may be several.
			still = append(still, r.decodeLines(ctx, td, data, line.from)...)
		}
		bad = still
	}
	for _, line := range bad {
		r.tell.skippedLine(ctx, batch.Path, batch.Start+line.from, int(line.to-line.from), line.err)
	}
	return td, nil
}

// decodeLines appends the spans of whole lines to td and returns the lines that are none. at is where
// data begins in the batch.
func (r *runFileReceiver) decodeLines(ctx context.Context, td ptrace.Traces, data []byte, at int64) (bad []badLine) {
	var decoder tracefile.Decoder
	for len(data) > 0 {
		n := bytes.IndexByte(data, '\n') + 1
		if n == 0 {
			n = len(data)
		}
		if line := data[:n]; len(bytes.TrimSpace(line)) > 0 {
			lost, err := decoder.Append(td.ResourceSpans(), line)
			if err != nil {
				bad = append(bad, badLine{from: at, to: at + int64(n), err: err})
			}
			if lost > 0 {
				r.tell.skippedItems(ctx, lost)
			}
		}
		data, at = data[n:], at+int64(n)
	}
	return bad
}

// worthReading reports whether another look could help: JSON of another kind stays what it is.
func worthReading(bad []badLine) bool {
	for _, line := range bad {
		if !errors.Is(line.err, tracefile.ErrNotTraces) {
			return true
		}
	}
	return false
}

func sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
