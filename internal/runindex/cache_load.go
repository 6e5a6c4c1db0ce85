package runindex

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/runspan/runspan/internal/tracefile"
)

// load returns what the cache holds, nil where that is nothing.
func (c *cache) load(db *bbolt.DB) (known *state, err error) {
	err = db.View(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(cacheBucket)
		if bucket == nil {
			return nil
		}
		get := func(key []byte) ([]byte, error) { return unsealed(key, bucket.Get(key)) }
		version, err := get(cacheKey(cacheKeyVersion))
		if err != nil {
			return err
		}
		if n := binary.BigEndian.Uint64(version); n != cacheVersion {
			return fmt.Errorf("%w: it is of version %d, this is %d", errCacheDamaged, n, cacheVersion)
		}
		known, err = c.loadState(get)
		return err
	})
	return known, err
}

func (c *cache) loadState(get func(key []byte) ([]byte, error)) (*state, error) {
	data, err := get(cacheKey(cacheKeyState))
	if err != nil {
		return nil, err
	}
	var from cachedState
	if err := json.Unmarshal(data, &from); err != nil {
		return nil, fmt.Errorf("%w: %w", errCacheDamaged, err)
	}
	s := newState()
	l := loader{cache: c, get: get, from: &from, state: &s}
	return &s, l.load()
}

// loader makes a state of a cache.
type loader struct {
	cache   *cache
	get     func(key []byte) ([]byte, error)
	from    *cachedState
	state   *state
	senders []*sender
}

func (l *loader) load() error {
	s := l.state
	s.unsorted = true
	s.nextID, s.nextOf, s.leftOut = l.from.NextID, l.from.NextOf, l.from.LeftOut
	s.numbers = make([]*run, l.from.Numbers)
	for _, n := range l.from.Senders {
		of := sender{n.Service, tracefile.Process{Name: n.Process, NamedBy: n.NamedBy}}
		if of == *s.others {
			l.senders = append(l.senders, s.others)
			continue
		}
		s.senders[of] = &of
		l.senders = append(l.senders, &of)
	}
	for _, from := range l.from.Files {
		f := &file{
			id: from.ID, path: from.Path, fingerprint: from.Fingerprint, read: from.Read, lookFrom: from.Read,
			size: from.Read, initial: from.Read, proof: from.Proof, badLines: from.BadLines, bad: from.Bad,
			parts: map[string]*part{},
		}
		s.files = append(s.files, f)
		s.ids[f.id] = f
	}
	l.cache.saved = cacheSaved{begun: true, lines: map[uint32]savedLines{}}
	for i := range l.from.Runs {
		if err := l.loadRun(&l.from.Runs[i]); err != nil {
			return err
		}
	}
	return l.loadTraces()
}

func (l *loader) loadRun(from *cachedRun) error {
	s := l.state
	r := &run{id: from.ID, number: from.Number, version: s.version, of: from.Of, traces: from.Traces, changed: from.Changed}
	r.lines.file, r.lines.end = from.File, from.End
	for chunk := 0; len(r.lines.data) < from.Bytes; chunk++ {
		// The last chunk may have been written again for a list that is longer.
		data, err := l.get(cacheKey(cacheKeyLines, r.number, uint32(chunk)))
		if err != nil {
			return err
		}
		r.lines.data = append(r.lines.data, data...)
		if len(data) < cacheChunk && len(r.lines.data) < from.Bytes {
			return fmt.Errorf("%w: lines of %q are missing", errCacheDamaged, r.id)
		}
	}
	if len(r.lines.data) != from.Bytes {
		return fmt.Errorf("%w: %q has too many lines", errCacheDamaged, r.id)
	}
	for _, part := range from.Parts {
		if err := l.loadPart(r, part); err != nil {
			return err
		}
	}
	s.runs[r.id] = r
	s.numbers[r.number] = r
	l.cache.saved.lines[r.number] = savedLines{of: r.of, bytes: len(r.lines.data)}
	return nil
}

func (l *loader) loadPart(r *run, from cachedPart) error {
	f := l.state.ids[from.File]
	if f == nil {
		return fmt.Errorf("%w: %q is in a file that is not there", errCacheDamaged, r.id)
	}
	p := &part{file: f, run: r, bytes: from.Bytes, end: from.End}
	for _, g := range from.Groups {
		*p.addGroup(l.senders[g[0]]) = group{
			sender: l.senders[g[0]], spans: g[1], errors: g[2], first: g[3], last: g[4],
		}
	}
	r.parts = append(r.parts, p)
	f.parts[r.id] = p
	return nil
}

func (l *loader) loadTraces() error {
	t := &l.state.traces
	t.reserve(l.from.Traces)
	counted := make([]int64, len(l.state.numbers)) // by the number of the run
	var last []byte
	for loaded, chunk := 0, 0; loaded < l.from.Traces; chunk++ {
		data, err := l.get(cacheKey(cacheKeyTraces, uint32(chunk)))
		if err != nil {
			return err
		}
		if len(data) == 0 || len(data)%cachedTraceBytes != 0 {
			return fmt.Errorf("%w: traces are missing", errCacheDamaged)
		}
		for e := range slices.Chunk(data, cachedTraceBytes) {
			if t.addEntry(traceOf(e)) {
				counted[traceOf(e).run]++
			}
			loaded++
		}
		l.cache.saved.chunks = chunk + 1
		if last = data; len(data) == cacheChunk {
			l.cache.saved.traces, last = chunk+1, nil
		}
	}
	for number, r := range l.state.numbers {
		if r != nil && r.traces != counted[number] || r == nil && counted[number] > 0 {
			return fmt.Errorf("%w: the traces of a run are not as many as they were", errCacheDamaged)
		}
	}
	if t.count() != l.from.Traces {
		return fmt.Errorf("%w: %d traces, not %d", errCacheDamaged, t.count(), l.from.Traces)
	}
	t.keepFresh(true)
	for e := range slices.Chunk(last, cachedTraceBytes) {
		t.fresh = append(t.fresh, traceOf(e))
	}
	return nil
}

func traceOf(data []byte) traceEntry {
	return traceEntry{
		trace: binary.BigEndian.Uint64(data), run: binary.BigEndian.Uint32(data[8:]), file: binary.BigEndian.Uint32(data[12:]),
	}
}
