package tracefile

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// tailPlaces is the folder in which a reader keeps its places, one small file a file read. The zero
// folder keeps none.
type tailPlaces struct {
	dir    string
	reader string
}

// tailPlace is the content of a place. The path is for people: a file is known by its fingerprint.
type tailPlace struct {
	Reader      string `json:"reader"`
	Fingerprint string `json:"fingerprint"`
	Path        string `json:"path"`
	Offset      int64  `json:"offset"`
	Sum         uint32 `json:"sum"` // of the other fields: a place with a changed digit is worse than none
}

func (p tailPlace) sum() uint32 {
	return crc32.ChecksumIEEE(fmt.Appendf(nil, "%q %q %q %d", p.Reader, p.Fingerprint, p.Path, p.Offset))
}

const (
	tailPlaceSuffix = ".place"

	// tailPlaceMost bounds what is read of a place: anything may lie under its name.
	tailPlaceMost = 64 << 10

	// tailPlaceAge is how long the place of a file that is gone is kept.
	tailPlaceAge = 30 * 24 * time.Hour
)

var (
	errTailPlaceDamaged = errors.New("the place is damaged")
	errTailPlaceForeign = errors.New("the place is of another file or reader")
)

func (p tailPlaces) prefix() string { return url.QueryEscape(p.reader) + "-" }

func (p tailPlaces) file(fingerprint string) string {
	return filepath.Join(p.dir, p.prefix()+fingerprint+tailPlaceSuffix)
}

// load returns the saved offset of a file. Where there is none the error is fs.ErrNotExist.
func (p tailPlaces) load(fingerprint string) (int64, error) {
	if p.dir == "" {
		return 0, fs.ErrNotExist
	}
	name := p.file(fingerprint)
	info, err := os.Stat(name)
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() || info.Size() > tailPlaceMost {
		return 0, fmt.Errorf("%w: %s is no small file", errTailPlaceDamaged, name)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	var place tailPlace
	if err := json.Unmarshal(data, &place); err != nil {
		return 0, fmt.Errorf("%w: %s: %w", errTailPlaceDamaged, name, err)
	}
	if place.Sum != place.sum() || place.Offset < 0 {
		return 0, fmt.Errorf("%w: %s: the checksum is wrong", errTailPlaceDamaged, name)
	}
	if place.Fingerprint != fingerprint || place.Reader != p.reader {
		return 0, fmt.Errorf("%w: %s is of %s, read by %s", errTailPlaceForeign, name, place.Path, place.Reader)
	}
	return place.Offset, nil
}

// save writes one place so that a kill or a crash leaves either the old one or the new one.
func (p tailPlaces) save(fingerprint, path string, offset int64) error {
	place := tailPlace{Reader: p.reader, Fingerprint: fingerprint, Path: path, Offset: offset}
	place.Sum = place.sum()
	data, err := json.Marshal(place)
	if err != nil {
		return err
	}
	name := p.file(fingerprint)
	// One name, not a random one: a kill leaves one file at most.
	temp := name + ".tmp"
	if err := tailWriteSynced(temp, append(data, '\n')); err != nil {
		return err
	}
	return os.Rename(temp, name)
}

func tailWriteSynced(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// prune removes the places of files that have been gone for long, and keeps those of the others
// young: one file a run, for years, would fill the folder.
func (p tailPlaces) prune(there func(fingerprint string) bool, now time.Time) {
	if p.dir == "" {
		return
	}
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return // saving says what is wrong with the folder
	}
	for _, e := range entries {
		fingerprint, ours := strings.CutPrefix(e.Name(), p.prefix())
		fingerprint, ours2 := strings.CutSuffix(fingerprint, tailPlaceSuffix)
		info, err := e.Info()
		if !ours || !ours2 || err != nil {
			continue
		}
		name, age := filepath.Join(p.dir, e.Name()), now.Sub(info.ModTime())
		switch {
		case there(fingerprint):
			if age > 24*time.Hour {
				_ = os.Chtimes(name, now, now) // tried again in an hour
			}
		case age > tailPlaceAge:
			_ = os.Remove(name) // tried again in an hour
		}
	}
}
