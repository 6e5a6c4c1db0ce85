package cli

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// spanPlace is the ids of a span, and the line that it is in.
type spanPlace struct {
	traceHigh, traceLow, span uint64
	line                      uint64
}

// spanPlaceBytes is the size of a spanPlace in memory and on the disk.
const spanPlaceBytes = 32

func (s spanPlace) compare(o spanPlace) int {
	return cmp.Or(s.compareIDs(o), cmp.Compare(s.line, o.line))
}

func (s spanPlace) compareIDs(o spanPlace) int {
	return cmp.Or(cmp.Compare(s.traceHigh, o.traceHigh), cmp.Compare(s.traceLow, o.traceLow), cmp.Compare(s.span, o.span))
}

func (s spanPlace) traceID() string {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], s.traceHigh)
	binary.BigEndian.PutUint64(id[8:], s.traceLow)
	return hex.EncodeToString(id[:])
}

func (s spanPlace) spanID() string {
	var id [8]byte
	binary.BigEndian.PutUint64(id[:], s.span)
	return hex.EncodeToString(id[:])
}

// spanSorter finds spans with the same ids among any number of them, exactly and in bounded memory:
// what does not fit goes to a temporary file in sorted runs, 32 bytes a span, and is merged at the end
// (docs/adr/0008-scan-and-duplicates.md).
type spanSorter struct {
	most   int // places in memory
	places []spanPlace
	file   *os.File
	runs   []*io.SectionReader // of file, each sorted
	size   int64               // of file
}

const (
	// sorterPlaces is how many places a spanSorter keeps in memory: 16 MiB.
	sorterPlaces = 1 << 19

	// sorterGrows is from how many on it takes the memory for all of them at once: growing step by
	// step leaves several times of it behind.
	sorterGrows = 1 << 16
)

func (s *spanSorter) add(trace pcommon.TraceID, span pcommon.SpanID, line int64) error {
	if len(s.places) >= s.most {
		if err := s.spill(); err != nil {
			return fmt.Errorf("sorting span ids in %s (TMPDIR names another folder): %w", os.TempDir(), err)
		}
	}
	if len(s.places) == sorterGrows {
		s.places = slices.Grow(s.places, s.most-len(s.places))
	}
	s.places = append(s.places, spanPlace{
		traceHigh: binary.BigEndian.Uint64(trace[:8]),
		traceLow:  binary.BigEndian.Uint64(trace[8:]),
		span:      binary.BigEndian.Uint64(span[:]),
		line:      uint64(line),
	})
	return nil
}

// spill sorts what is in memory and moves it to the disk.
func (s *spanSorter) spill() error {
	if s.file == nil {
		f, err := os.CreateTemp("", "runspan-check-*")
		if err != nil {
			return err
		}
		s.file = f
		// Without a name it goes away with the process, however that ends.
		if err := os.Remove(f.Name()); err != nil {
			return err
		}
	}
	slices.SortFunc(s.places, spanPlace.compare)
	w := bufio.NewWriterSize(s.file, 1<<20)
	for _, p := range s.places {
		var b [spanPlaceBytes]byte
		binary.NativeEndian.PutUint64(b[0:], p.traceHigh)
		binary.NativeEndian.PutUint64(b[8:], p.traceLow)
		binary.NativeEndian.PutUint64(b[16:], p.span)
		binary.NativeEndian.PutUint64(b[24:], p.line)
		if _, err := w.Write(b[:]); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	bytes := int64(len(s.places)) * spanPlaceBytes
	s.runs = append(s.runs, io.NewSectionReader(s.file, s.size, bytes))
	s.size += bytes
	s.places = s.places[:0]
	return nil
}

// close frees the memory and the disk.
func (s *spanSorter) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// placesShown is how many places of one pair of ids are kept.
const placesShown = 3

// duplicates calls each for every pair of ids that came more than once, with the first of its places
// in the order of the lines, and how many there are. They are valid during the call only.
func (s *spanSorter) duplicates(each func(first []spanPlace, count int64)) error {
	slices.SortFunc(s.places, spanPlace.compare)
	if len(s.runs) == 0 {
		groupPlaces(slices.Values(s.places), each)
		return nil
	}
	merge := placeMerge{}
	for _, run := range s.runs {
		merge.runs = append(merge.runs, &placeRun{from: bufio.NewReaderSize(run, 64<<10)})
	}
	merge.runs = append(merge.runs, &placeRun{left: s.places})
	groupPlaces(merge.all, each)
	return merge.err
}

// groupPlaces calls each for the groups of more than one place with the same ids in a sorted sequence.
func groupPlaces(places iter.Seq[spanPlace], each func(first []spanPlace, count int64)) {
	var first []spanPlace
	var count int64
	end := func() {
		if count > 1 {
			each(first, count)
		}
		first, count = first[:0], 0
	}
	for p := range places {
		if count > 0 && first[0].compareIDs(p) != 0 {
			end()
		}
		if count++; len(first) < placesShown {
			first = append(first, p)
		}
	}
	end()
}

// placeRun is a sorted run of places: on the disk, or in memory.
type placeRun struct {
	from *bufio.Reader
	left []spanPlace
	head spanPlace
}

// next moves the head on; io.EOF at the end.
func (r *placeRun) next() error {
	if r.from == nil {
		if len(r.left) == 0 {
			return io.EOF
		}
		r.head, r.left = r.left[0], r.left[1:]
		return nil
	}
	var b [spanPlaceBytes]byte
	if _, err := io.ReadFull(r.from, b[:]); err != nil {
		return err
	}
	r.head = spanPlace{
		traceHigh: binary.NativeEndian.Uint64(b[0:]),
		traceLow:  binary.NativeEndian.Uint64(b[8:]),
		span:      binary.NativeEndian.Uint64(b[16:]),
		line:      binary.NativeEndian.Uint64(b[24:]),
	}
	return nil
}

// placeMerge merges runs: a heap by their heads.
type placeMerge struct {
	runs []*placeRun
	err  error
}

func (m *placeMerge) all(yield func(spanPlace) bool) {
	m.runs = slices.DeleteFunc(m.runs, func(r *placeRun) bool { return !m.advance(r) })
	heap.Init(m)
	for len(m.runs) > 0 && m.err == nil {
		r := m.runs[0]
		if !yield(r.head) {
			return
		}
		if m.advance(r) {
			heap.Fix(m, 0)
		} else {
			heap.Pop(m)
		}
	}
}

// advance reports whether a run has another place.
func (m *placeMerge) advance(r *placeRun) bool {
	err := r.next()
	if err != nil && !errors.Is(err, io.EOF) {
		m.err = fmt.Errorf("reading sorted span ids: %w", err)
	}
	return err == nil
}

func (m *placeMerge) Len() int           { return len(m.runs) }
func (m *placeMerge) Less(i, j int) bool { return m.runs[i].head.compare(m.runs[j].head) < 0 }
func (m *placeMerge) Swap(i, j int)      { m.runs[i], m.runs[j] = m.runs[j], m.runs[i] }

// Push implements heap.Interface; nothing is pushed.
func (m *placeMerge) Push(any) {}

// Pop implements heap.Interface.
func (m *placeMerge) Pop() any {
	last := m.runs[len(m.runs)-1]
	m.runs = m.runs[:len(m.runs)-1]
	return last
}
