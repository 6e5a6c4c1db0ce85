package tracefile

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

const (
	// DefaultScanLineBytes is the longest line that a Scan without a limit of its own decodes: 64 MiB,
	// four times of what the writer's default allows.
	DefaultScanLineBytes = 64 << 20

	// scanBatch is how much is read and decoded at a time: long enough that handing it over costs
	// nothing beside decoding it, short enough for one on each core.
	scanBatch = 1 << 20
)

// ScanOptions are the settings of a Scan. The zero value is ready for use.
type ScanOptions struct {
	// MaxLineBytes is the longest line that is decoded, its newline included; a longer one is stepped
	// over and reported as bad. Unit: bytes. Zero means DefaultScanLineBytes. A line being decoded
	// takes up to ten times of its size in memory.
	MaxLineBytes int64
}

// ScannedLine is one line of a trace file.
type ScannedLine struct {
	// Number of the line, from 1.
	Number int64
	// Offset is where the line begins, in bytes from the start of the file.
	Offset int64
	// Bytes is the size of the line with its newline.
	Bytes int64
	// Data is the line without its newline; nil when it is longer than MaxLineBytes.
	Data []byte
	// Traces are its content when Bad is nil. They hold one span at least.
	Traces ptrace.Traces
	// Lost is how many fields, resources, scopes and spans of the line this version does not know or
	// cannot read: Traces are without them.
	Lost int
	// Bad says why the line is none of a trace file.
	Bad *BadLineError
}

// ScanSummary is what a Scan has seen.
type ScanSummary struct {
	// Lines are those that ended with a newline, good and bad ones.
	Lines int64
	// Bytes are theirs: what is behind is no data.
	Bytes int64
	// TailBytes is the size of what is behind the last newline: a line that is being written, or one
	// that a crash tore.
	TailBytes int64
}

// Scan reads the lines in the first size bytes of a file and calls each for every one in its order.
// It reads and decodes ahead, on every core, in bounded memory: 64 MiB of the file, or one line of
// MaxLineBytes where that is more. A line and its data are valid during the call only. Scan ends with
// the first error of reading or of each, or when ctx ends.
func Scan(ctx context.Context, file io.ReaderAt, size int64, opts ScanOptions, each func(*ScannedLine) error) (ScanSummary, error) {
	if opts.MaxLineBytes <= 0 {
		opts.MaxLineBytes = DefaultScanLineBytes
	}
	budget := max(opts.MaxLineBytes, DefaultScanLineBytes) / scanBatch
	s := &scan{
		file:    file,
		size:    size,
		maxLine: opts.MaxLineBytes,
		number:  1,
		each:    each,
		free:    make(chan []byte, DefaultScanLineBytes/scanBatch),
	}
	var err error
	if size <= scanBatch {
		err = s.inline(ctx)
	} else {
		err = s.ahead(ctx, budget)
	}
	if err != nil {
		return s.sum, err
	}
	s.sum.TailBytes = size - s.sum.Bytes
	return s.sum, ctx.Err()
}

// scan is a Scan on its way.
type scan struct {
	file       io.ReaderAt
	size       int64
	maxLine    int64
	at, number int64 // of the line that is read next
	each       func(*ScannedLine) error
	sum        ScanSummary

	// free are buffers for another chunk. They go away with the scan: those of a sync.Pool outlive
	// two collections of garbage, and 60,000 small files took 1.8 GB.
	free chan []byte
}

// inline scans a file of one batch: there is nothing to do ahead.
func (s *scan) inline(ctx context.Context) error {
	var d Decoder
	for ctx.Err() == nil {
		c, err := s.next()
		if c == nil || err != nil {
			return err
		}
		c.decodeLines(&d)
		if err := s.hand(c); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// ahead scans a file: one goroutine reads, some decode, the caller's takes the lines in order.
func (s *scan) ahead(ctx context.Context, budget int64) error {
	workers := runtime.GOMAXPROCS(0)
	r := scanReader{
		scan:    s,
		budget:  make(chan struct{}, budget),
		decode:  make(chan *scanChunk, workers),
		ordered: make(chan *scanChunk, workers+1),
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { r.read(ctx) })
	for range workers {
		running.Go(func() {
			var d Decoder
			for c := range r.decode {
				c.decodeLines(&d)
				close(c.done)
			}
		})
	}
	for c := range r.ordered {
		<-c.done
		if err := s.hand(c); err != nil {
			return err
		}
		for range c.cost {
			<-r.budget
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return r.err
}

// hand calls each for the lines of a chunk, whose buffer is free then.
func (s *scan) hand(c *scanChunk) error {
	for i := range c.lines {
		line := &c.lines[i]
		if err := s.each(line); err != nil {
			return err
		}
		s.sum.Lines++
		s.sum.Bytes += line.Bytes
	}
	select {
	case s.free <- c.buf:
	default:
	}
	return nil
}

// next reads the next lines; nil when there is none.
func (s *scan) next() (*scanChunk, error) {
	if s.at >= s.size {
		return nil, nil
	}
	var buf []byte
	select {
	case buf = <-s.free:
	default:
		n := min(scanBatch, s.maxLine, s.size)
		buf = make([]byte, n, n+slackBehind)
	}
	data, end, err := cutLines(s.file, s.at, s.at, s.size, buf, s.maxLine)
	if err != nil {
		return nil, fmt.Errorf("reading at byte %d: %w", s.at, err)
	}
	if end == 0 {
		return nil, nil
	}
	c := &scanChunk{data: data, buf: buf, number: s.number, offset: s.at}
	if data == nil {
		c.tooLong = end - s.at
		s.number++
	} else {
		s.number += int64(bytes.Count(data, []byte("\n")))
	}
	s.at = end
	return c, nil
}

// scanReader reads ahead of the lines that are handed over.
type scanReader struct {
	*scan
	budget  chan struct{} // holds one for each scanBatch of the file in memory
	decode  chan *scanChunk
	ordered chan *scanChunk
	err     error // of reading; valid after ordered is closed
}

// scanChunk is some lines of a file that follow each other.
type scanChunk struct {
	data  []byte
	buf   []byte // which mostly holds data
	lines []ScannedLine
	cost  int64         // of the budget
	done  chan struct{} // closed when they are decoded

	number, offset int64 // of the first line
	tooLong        int64 // size of its only line, which was not read
}

func (r *scanReader) read(ctx context.Context) {
	defer close(r.ordered)
	defer close(r.decode)
	for {
		c, err := r.next()
		if c == nil || err != nil {
			r.err = err
			return
		}
		c.done = make(chan struct{})
		// There is one reader, so that waiting for a part of what it needs cannot block it for ever.
		for c.cost*scanBatch < int64(len(c.data)) && c.cost < int64(cap(r.budget)) {
			select {
			case r.budget <- struct{}{}:
				c.cost++
			case <-ctx.Done():
				return
			}
		}
		for _, to := range []chan *scanChunk{r.decode, r.ordered} {
			select {
			case to <- c:
			case <-ctx.Done():
				return
			}
		}
	}
}

func (c *scanChunk) decodeLines(d *Decoder) {
	if c.tooLong > 0 {
		c.lines = []ScannedLine{{
			Number: c.number, Offset: c.offset, Bytes: c.tooLong,
			Bad: &BadLineError{Reason: BadTooLong, At: c.offset},
		}}
		return
	}
	number, offset := c.number, c.offset
	for text := range bytes.Lines(c.data) {
		line := ScannedLine{Number: number, Offset: offset, Bytes: int64(len(text)), Data: text[:len(text)-1]}
		line.Traces, line.Lost, line.Bad = scanDecode(d, line.Data)
		if line.Bad != nil {
			line.Bad.At += offset
		}
		c.lines = append(c.lines, line)
		number++
		offset += line.Bytes
	}
}
