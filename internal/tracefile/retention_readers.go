package tracefile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// tailReaders are the readers of this process: what one of them has not delivered when a file is
// deleted is counted under its name.
var tailReaders = struct {
	sync.Mutex
	all map[*Tail]bool
}{all: map[*Tail]bool{}}

func (t *Tail) register() {
	tailReaders.Lock()
	defer tailReaders.Unlock()
	tailReaders.all[t] = true
}

func (t *Tail) unregister() {
	tailReaders.Lock()
	defer tailReaders.Unlock()
	delete(tailReaders.all, t)
}

// deliveredOf returns up to where a file is delivered.
func (t *Tail) deliveredOf(fingerprint string) int64 {
	t.mu.Lock()
	f, ok := t.files[fingerprint]
	var delivered int64
	if ok {
		delivered = f.delivered
	}
	t.mu.Unlock()
	if ok {
		return delivered
	}
	offset, err := t.places.load(fingerprint)
	if err != nil {
		return 0 // it has read nothing of it, or will read it again
	}
	return offset
}

// placeReaders knows from their folders of places what readers of other processes have delivered.
type placeReaders struct {
	folders []string
	offsets map[string]map[string]int64 // by reader, by fingerprint; nil until it is needed
}

// unread returns how many bytes of a file each reader has not delivered; only readers with some are in
// it.
func (p *placeReaders) unread(path string, size int64) map[string]int64 {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // it was only read
	fingerprint, err := tailFingerprint(f)
	if err != nil || fingerprint == "" {
		return nil // no line is in it
	}
	unread := map[string]int64{}
	tailReaders.Lock()
	here := map[string]bool{}
	for t := range tailReaders.all {
		here[t.set.Name] = true
		if !tailCovers(t.set.Include, path) {
			continue
		}
		if rest := size - t.deliveredOf(fingerprint); rest > 0 {
			unread[t.set.Name] += rest
		}
	}
	tailReaders.Unlock()
	p.load()
	for reader, offsets := range p.offsets {
		if rest := size - offsets[fingerprint]; rest > 0 && !here[reader] {
			unread[reader] += rest
		}
	}
	return unread
}

// load reads the folders once: every reader that has a place in one of them counts.
func (p *placeReaders) load() {
	if p.offsets != nil {
		return
	}
	p.offsets = map[string]map[string]int64{}
	for _, folder := range p.folders {
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue // nobody has read anything yet
		}
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), tailPlaceSuffix) {
				continue
			}
			var place tailPlace
			data, err := os.ReadFile(filepath.Join(folder, e.Name()))
			if err != nil || json.Unmarshal(data, &place) != nil || place.Sum != place.sum() {
				continue // its reader begins anew as well
			}
			if p.offsets[place.Reader] == nil {
				p.offsets[place.Reader] = map[string]int64{}
			}
			p.offsets[place.Reader][place.Fingerprint] = place.Offset
		}
	}
}
