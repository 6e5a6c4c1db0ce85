package runindex

import (
	"encoding/binary"
	"errors"
	"slices"
)

// LineRef is the place of a line.
type LineRef struct {
	// File is the path of the file when the LineRef was made.
	File string
	// Offset is where the line begins, in bytes from the start of the file; Bytes is its size with its
	// newline.
	Offset, Bytes int64

	id uint32 // of the file, whatever its name is by now
}

// Mark is a place in the lines of a run. The zero Mark is their beginning.
type Mark struct {
	// Of is another number whenever lines went away, N grows with them.
	Of, N int

	file uint32
	end  int64
}

// ErrGone says that a file is gone, or is another one by now.
var ErrGone = errors.New("the file is gone, or another one by now")

// mostLines is how many lines one call returns.
const mostLines = 100_000

// Lines returns lines that hold spans of a run, or of no run where it is "", in the order in which they
// were read: those behind a mark, and the mark behind them. They are at most 100,000: there are no more
// when there are none. After reset, lines from before the mark have gone away with their files, and
// these begin anew.
func (c *Catalogue) Lines(run string, after Mark) (lines []LineRef, mark Mark, reset bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.runs[run]
	if r == nil {
		return nil, Mark{}, after != Mark{}
	}
	if after.Of != r.of {
		reset, after = after != Mark{}, Mark{Of: r.of}
	}
	var f *file
	for len(lines) < mostLines && after.N < len(r.lines.data) {
		var size int64
		size, after = r.lines.next(after)
		if f == nil || f.id != after.file {
			f = c.ids[after.file]
		}
		lines = append(lines, LineRef{File: f.path, Offset: after.end - size, Bytes: size, id: f.id})
	}
	return lines, after, reset
}

// RunsOfTrace returns the runs that have spans of a trace, sorted.
func (c *Catalogue) RunsOfTrace(id [16]byte) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var runs []string
	trace := hashOfTrace(id)
	for _, r := range c.runs {
		if r.id != "" && c.traces.has(trace, r.number) {
			runs = append(runs, r.id)
		}
	}
	slices.Sort(runs)
	return runs
}

// lineList is the places of lines: for each its file, where that is another one than before, its
// distance from the end of the line before it, and its size, as varints. A run of ten million lines of
// one span takes some 40 MB.
type lineList struct {
	data []byte
	file uint32 // of the last line
	end  int64
}

func (l *lineList) add(file uint32, offset, size int64) {
	if file == l.file && offset >= l.end {
		l.data = binary.AppendUvarint(l.data, uint64(offset-l.end)<<1)
	} else {
		l.data = binary.AppendUvarint(l.data, uint64(file)<<1|1)
		l.data = binary.AppendUvarint(l.data, uint64(offset))
	}
	l.data = binary.AppendUvarint(l.data, uint64(size))
	l.file, l.end = file, offset+size
}

// next returns the size of the line behind a mark, which must not be the end of the list, and the mark
// behind that, whose end is the line's.
func (l *lineList) next(at Mark) (size int64, after Mark) {
	number := func() uint64 {
		n, width := binary.Uvarint(l.data[at.N:])
		at.N += width
		return n
	}
	tag := number()
	if tag&1 == 0 {
		at.end += int64(tag >> 1)
	} else {
		at.file, at.end = uint32(tag>>1), int64(number())
	}
	size = int64(number())
	at.end += size
	return size, at
}

// without returns the list without the lines of files.
func (l *lineList) without(files map[uint32]bool) lineList {
	var left lineList
	for at := (Mark{}); at.N < len(l.data); {
		var size int64
		size, at = l.next(at)
		if !files[at.file] {
			left.add(at.file, at.end-size, size)
		}
	}
	return left
}
