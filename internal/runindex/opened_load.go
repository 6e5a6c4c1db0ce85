package runindex

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/runspan/runspan/internal/tracefile"
)

// loadState is how far a run is read. Whoever holds OpenedRun.loading may use it.
type loadState struct {
	mark     Mark
	pending  []LineRef // not read yet
	seen     uint64    // version of the snapshot that all is read of
	complete bool
	joins    joinState
	buf      []byte
	decoder  tracefile.Decoder
}

// catchUp adds the lines that were appended since the last time. It returns why that is not all of
// them, "" where it is. What is left when the patience ends is read by the next call. The error is that
// of ctx.
func (o *OpenedRun) catchUp(ctx context.Context) (reason string, err error) {
	patience, cancel := context.WithTimeout(ctx, o.runs.opts.Patience)
	defer cancel()
	select {
	case o.loading <- struct{}{}:
	case <-patience.Done():
		return PartialReading, ctx.Err()
	}
	defer func() { <-o.loading }()
	version := o.runs.source.Snapshot().Version
	if o.load.complete && o.load.seen == version {
		return "", nil
	}
	select {
	case o.runs.readers <- struct{}{}:
	case <-patience.Done():
		return PartialReading, ctx.Err()
	}
	defer func() { <-o.runs.readers }()
	full, err := o.read(patience)
	for tries := 0; errors.Is(err, ErrGone) && tries < 3; tries++ {
		// A file was replaced between the look at its lines and the reading of one.
		o.begin()
		full, err = o.read(patience)
	}
	switch {
	case full:
		reason = PartialMemory
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.Is(err, ErrGone):
		reason = PartialReading
	case err != nil:
		o.runs.opts.Warn(fmt.Sprintf("a run cannot be read: %v", err))
		reason = PartialError
	}
	o.load.complete, o.load.seen = reason == "", version
	if cap(o.load.buf) > 1<<20 {
		o.load.buf = nil // blown up by one huge line
	}
	return reason, ctx.Err()
}

// read reads what is new: lines of the run, then lines of no run that join it. It reports whether the
// memory is full; the error is that of ctx or ErrGone.
func (o *OpenedRun) read(ctx context.Context) (full bool, err error) {
	if o.joinsChanged() {
		o.begin()
	}
	for {
		// First what the last call left over: an error or the end of its patience stopped it.
		if full, err := o.readPending(ctx); full || err != nil {
			return full, err
		}
		lines, mark, reset := o.runs.source.Lines(o.id, o.load.mark)
		if reset {
			o.begin()
		}
		o.load.mark = mark
		if len(lines) == 0 {
			break
		}
		o.load.pending = lines
	}
	return o.join(ctx)
}

// begin forgets everything: files were replaced.
func (o *OpenedRun) begin() {
	o.load.mark, o.load.pending, o.load.joins = Mark{}, nil, joinState{}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.columns = newColumns()
	o.spansRead = 0
	o.changes++
	o.restarts++
}

func (o *OpenedRun) readPending(ctx context.Context) (full bool, err error) {
	for len(o.load.pending) > 0 {
		if !o.runs.charge(o, o.bytesNow()) {
			return true, nil
		}
		if err := o.readLine(ctx, o.load.pending[0], o.ownSpan); err != nil {
			return false, err
		}
		o.load.pending = o.load.pending[1:]
	}
	return !o.runs.charge(o, o.bytesNow()), nil
}

func (o *OpenedRun) bytesNow() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes()
}

// ownSpan reports whether a span is of this run.
func (o *OpenedRun) ownSpan(s *tracefile.RunSpan) (add, joined bool) { return s.Run == o.id, false }

// readLine adds the spans of a line that pick takes.
func (o *OpenedRun) readLine(ctx context.Context, ref LineRef, pick func(*tracefile.RunSpan) (add, joined bool)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	td, err := o.runs.decode(&o.load.decoder, ref, &o.load.buf)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.changes++
	line := uint32(len(o.lines))
	o.lines = append(o.lines, ref)
	var process tracefile.Process
	var of ptrace.ResourceSpans
	for s := range tracefile.SpansOf(td) {
		add, joined := pick(&s)
		if !add {
			continue
		}
		if s.Resource != of {
			of, process = s.Resource, tracefile.ProcessOf(s.Resource.Resource().Attributes())
		}
		o.spansRead++
		o.addSpan(&s, process, line, joined)
	}
	return nil
}

// decode returns the spans of a line. One that cannot be decoded anymore has none: the catalogue read
// it once, so it was changed in its place. The error is one of reading, or ErrGone.
func (r *Runs) decode(d *tracefile.Decoder, ref LineRef, buf *[]byte) (ptrace.Traces, error) {
	td := ptrace.NewTraces()
	data, err := r.source.ReadLine(ref, (*buf)[:0])
	if err != nil {
		return td, err
	}
	*buf = data
	_, _ = d.Append(td.ResourceSpans(), data)
	return td, nil
}

// lookAt calls look with the columns in order, and nobody adding to them.
func (o *OpenedRun) lookAt(look func(c *columns)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.settle()
	look(&o.columns)
}

// Changes are numbers of which one is another whenever an answer about the run may be another one.
func (o *OpenedRun) Changes() (generation, changes uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.generation, o.changes
}

// Joined reports whether spans of no run count here. What other runs hold decides whether they do.
func (o *OpenedRun) Joined() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.joined > 0
}
