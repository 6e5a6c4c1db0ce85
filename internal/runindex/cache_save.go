package runindex

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/zeebo/xxh3"
	"go.etcd.io/bbolt"
)

const (
	// cacheVersion is the form of what is in the cache. Another one, older or newer, is made anew.
	cacheVersion = 1

	// cacheInterval is the least time between two writes; a write takes a twentieth of the time at most.
	cacheInterval = 5 * time.Second
	cacheShare    = 20

	// cacheChunk is how much of a list is one value. The last one is written again when the list grows.
	cacheChunk = 64 << 10
)

var cacheBucket = []byte("catalogue")

// The keys: the state of everything that is small, and the chunks of what only grows.
const (
	cacheKeyVersion = 'v'
	cacheKeyState   = 's'
	cacheKeyLines   = 'l' // run u32, chunk u32
	cacheKeyTraces  = 't' // chunk u32
)

func cacheKey(kind byte, numbers ...uint32) []byte {
	key := []byte{kind}
	for _, n := range numbers {
		key = binary.BigEndian.AppendUint32(key, n)
	}
	return key
}

// cacheSaved is what is on the disk, so that only what is new is written.
type cacheSaved struct {
	begun   bool
	version uint64
	next    time.Time
	lines   map[uint32]savedLines // by the number of the run
	traces  int                   // whole chunks
	chunks  int                   // of traces, whole or not
}

type savedLines struct{ of, bytes int }

// cachedState is the JSON of a state, without what is in chunks.
type cachedState struct {
	NextID  uint32       `json:"next_id"`
	NextOf  int          `json:"next_of"`
	Numbers int          `json:"numbers"`
	LeftOut int64        `json:"left_out"`
	Traces  int          `json:"traces"`
	Senders []cachedName `json:"senders"`
	Files   []cachedFile `json:"files"`
	Runs    []cachedRun  `json:"runs"`
}

type cachedName struct {
	Service string `json:"service"`
	Process string `json:"process"`
	NamedBy string `json:"named_by"`
}

type cachedFile struct {
	ID          uint32    `json:"id"`
	Path        string    `json:"path"`
	Fingerprint string    `json:"fingerprint"`
	Read        int64     `json:"read"`
	Proof       proof     `json:"proof"`
	BadLines    int64     `json:"bad_lines"`
	Bad         []BadLine `json:"bad"`
}

type cachedRun struct {
	ID      string       `json:"id"`
	Number  uint32       `json:"number"`
	Of      int          `json:"of"`
	Changed int64        `json:"changed"`
	Traces  int64        `json:"traces"`
	Bytes   int          `json:"bytes"` // of its lines' places
	File    uint32       `json:"file"`
	End     int64        `json:"end"`
	Parts   []cachedPart `json:"parts"`
}

type cachedPart struct {
	File   uint32     `json:"file"`
	Bytes  int64      `json:"bytes"`
	End    int64      `json:"end"`
	Groups [][5]int64 `json:"groups"` // sender, spans, errors, first, last
}

// due reports whether the catalogue is to be saved.
func (c *cache) due(s *state, now time.Time) bool {
	return c.db != nil && (s.version != c.saved.version || !c.saved.begun) &&
		(now.After(c.saved.next) || len(s.traces.fresh) > mostFreshTraces)
}

// cacheWrite is one transaction: values by key, nil to delete.
type cacheWrite struct {
	values map[string][]byte
	saved  cacheSaved
	traces int // of fresh that are in whole chunks now
}

// prepare encodes what is new. The catalogue must not change meanwhile.
func (c *cache) prepare(s *state) (*cacheWrite, error) {
	w := &cacheWrite{values: map[string][]byte{}, saved: cacheSaved{
		begun: true, version: s.version, lines: map[uint32]savedLines{},
	}}
	w.values[string(cacheKey(cacheKeyVersion))] = binary.BigEndian.AppendUint64(nil, cacheVersion)
	data, err := json.Marshal(s.cached())
	if err != nil {
		return nil, err
	}
	w.values[string(cacheKey(cacheKeyState))] = data
	for _, r := range s.runs {
		was := c.saved.lines[r.number]
		if was.of != r.of {
			c.deleteLines(w, r.number, was, len(r.lines.data))
			was = savedLines{}
		}
		for chunk := was.bytes / cacheChunk; chunk*cacheChunk < len(r.lines.data); chunk++ {
			part := r.lines.data[chunk*cacheChunk:]
			w.values[string(cacheKey(cacheKeyLines, r.number, uint32(chunk)))] = part[:min(cacheChunk, len(part))]
		}
		w.saved.lines[r.number] = savedLines{of: r.of, bytes: len(r.lines.data)}
	}
	for number, was := range c.saved.lines {
		if _, there := w.saved.lines[number]; !there {
			c.deleteLines(w, number, was, 0)
		}
	}
	c.prepareTraces(w, &s.traces)
	return w, nil
}

// deleteLines deletes the chunks of a run that are not written over.
func (c *cache) deleteLines(w *cacheWrite, number uint32, was savedLines, now int) {
	for chunk := 0; chunk*cacheChunk < was.bytes; chunk++ {
		if chunk*cacheChunk >= now {
			w.values[string(cacheKey(cacheKeyLines, number, uint32(chunk)))] = nil
		}
	}
}

const (
	cachedTraceBytes = 16
	chunkTraces      = cacheChunk / cachedTraceBytes

	// mostFreshTraces bounds the memory of those that are not in the cache yet: 8 MB.
	mostFreshTraces = 512 << 10
)

// prepareTraces encodes the traces that are new since the last whole chunk; all of them where some went
// away.
func (c *cache) prepareTraces(w *cacheWrite, t *traceTable) {
	w.saved.traces = c.saved.traces
	if t.rewrite {
		t.fresh, t.rewrite, w.saved.traces = nil, false, 0
		t.each(func(e traceEntry) { t.fresh = append(t.fresh, e) })
	}
	chunk := w.saved.traces
	for from := 0; from < len(t.fresh); from += chunkTraces {
		part := t.fresh[from:min(from+chunkTraces, len(t.fresh))]
		data := make([]byte, 0, len(part)*cachedTraceBytes)
		for _, e := range part {
			data = binary.BigEndian.AppendUint64(data, e.trace)
			data = binary.BigEndian.AppendUint32(data, e.run)
			data = binary.BigEndian.AppendUint32(data, e.file)
		}
		w.values[string(cacheKey(cacheKeyTraces, uint32(chunk)))] = data
		if chunk++; len(part) == chunkTraces {
			w.saved.traces = chunk
			w.traces += chunkTraces
		}
	}
	w.saved.chunks = chunk
	for ; chunk < c.saved.chunks; chunk++ {
		w.values[string(cacheKey(cacheKeyTraces, uint32(chunk)))] = nil
	}
}

// write brings all of it to the disk, or nothing.
func (c *cache) write(w *cacheWrite) error {
	return c.guarded(func() error {
		return c.db.Update(func(tx *bbolt.Tx) error {
			bucket, err := tx.CreateBucketIfNotExists(cacheBucket)
			if err != nil {
				return err
			}
			for key, value := range w.values {
				if value == nil {
					err = bucket.Delete([]byte(key))
				} else {
					err = bucket.Put([]byte(key), sealed([]byte(key), value))
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// sealed returns a value with a checksum of it and its key behind it.
func sealed(key, value []byte) []byte {
	out := append(make([]byte, 0, len(value)+8), value...)
	return binary.BigEndian.AppendUint64(out, sealOf(key, value))
}

func sealOf(key, value []byte) uint64 { return xxh3.HashSeed(value, xxh3.Hash(key)) }

// unsealed returns the value without its checksum. It does not live in the file.
func unsealed(key, data []byte) ([]byte, error) {
	n := len(data) - 8
	if n < 0 || binary.BigEndian.Uint64(data[n:]) != sealOf(key, data[:n]) {
		return nil, fmt.Errorf("%w: the checksum of %q is wrong", errCacheDamaged, key)
	}
	return append([]byte(nil), data[:n]...), nil
}

// cached returns what is small of a state.
func (s *state) cached() *cachedState {
	out := &cachedState{
		NextID: s.nextID, NextOf: s.nextOf, Numbers: len(s.numbers), LeftOut: s.leftOut, Traces: s.traces.count(),
	}
	senders := map[*sender]int64{}
	for _, f := range s.files {
		out.Files = append(out.Files, cachedFile{
			ID: f.id, Path: f.path, Fingerprint: f.fingerprint, Read: f.read, Proof: f.proof,
			BadLines: f.badLines, Bad: f.bad,
		})
	}
	for _, r := range s.runs {
		run := cachedRun{
			ID: r.id, Number: r.number, Of: r.of, Changed: r.changed, Traces: r.traces,
			Bytes: len(r.lines.data), File: r.lines.file, End: r.lines.end,
		}
		for _, p := range r.parts {
			part := cachedPart{File: p.file.id, Bytes: p.bytes, End: p.end}
			for _, g := range p.groups {
				n, known := senders[g.sender]
				if !known {
					n = int64(len(senders))
					senders[g.sender] = n
					out.Senders = append(out.Senders, cachedName{g.sender.service, g.sender.process.Name, g.sender.process.NamedBy})
				}
				part.Groups = append(part.Groups, [5]int64{n, g.spans, g.errors, g.first, g.last})
			}
			run.Parts = append(run.Parts, part)
		}
		out.Runs = append(out.Runs, run)
	}
	return out
}

// save writes what is new to the cache, if it is time to.
func (c *Catalogue) save(now time.Time, always bool) {
	c.mu.Lock()
	if c.cache == nil || !c.cache.due(&c.state, now) && (!always || c.cache.db == nil) {
		c.mu.Unlock()
		return
	}
	w, err := c.cache.prepare(&c.state)
	c.mu.Unlock()
	if err == nil {
		err = c.cache.write(w)
	}
	if err != nil {
		what := "going on without"
		c.cache.close()
		if errors.Is(err, errCacheDamaged) && c.cache.guarded(c.cache.makeAnew) == nil {
			what = "making it anew"
		}
		c.mu.Lock()
		c.traces.keepFresh(c.cache.db != nil)
		c.mu.Unlock()
		c.opts.Warn(fmt.Sprintf("cache %s: %v: %s", c.cache.path, err, what))
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.traces.fresh = append(c.traces.fresh[:0:0], c.traces.fresh[w.traces:]...)
	w.saved.next = time.Now().Add(max(cacheInterval, cacheShare*time.Since(now)))
	c.cache.saved = w.saved
}
