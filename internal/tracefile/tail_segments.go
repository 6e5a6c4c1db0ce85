package tracefile

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// segmentName is the name of a closed segment, NAME-<UTC time>-<n>.jsonl. The number may be missing
// and the time may hold separators, so that the backups of other writers keep their order too.
var segmentName = regexp.MustCompile(
	`^(.+)-(\d{4}-?\d{2}-?\d{2}T?\d{2}[-:]?\d{2}[-:]?\d{2}(?:\.\d+)?Z?)(?:-(\d+))?(\.[^.]+)$`)

// tailOrder is where a file stands among those of one log: its segments by time and number, then
// the live file.
type tailOrder struct {
	log    string // the path of the live file
	live   bool
	time   string // digits only
	number int
}

// tailOrderOf returns the place of a path among the files of its log.
func tailOrderOf(path string) tailOrder {
	dir, base := filepath.Split(path)
	m := segmentName.FindStringSubmatch(base)
	if m == nil {
		return tailOrder{log: path, live: true}
	}
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, m[2])
	// Without a number it is the first of its time; one too large for an int sorts last.
	number := 0
	if m[3] != "" {
		var err error
		if number, err = strconv.Atoi(m[3]); err != nil {
			number = int(^uint(0) >> 1)
		}
	}
	return tailOrder{log: filepath.Join(dir, m[1]+m[4]), time: digits, number: number}
}

func (a tailOrder) compare(b tailOrder) int {
	if c := strings.Compare(a.log, b.log); c != 0 {
		return c
	}
	if a.live != b.live {
		if a.live {
			return 1
		}
		return -1
	}
	// Times of different precision compare digit by digit: the shorter one is the earlier.
	return cmp.Or(strings.Compare(a.time, b.time), cmp.Compare(a.number, b.number))
}

// tailGlob returns the files that a pattern names, and the segments of the logs that it names. It reads
// each folder once: with two filepath.Glob, ten thousand folders took twice as long.
func tailGlob(pattern string) ([]string, error) {
	if _, err := filepath.Match(pattern, ""); err != nil {
		return nil, err
	}
	folder, base := filepath.Split(pattern)
	folders := []string{folder}
	if strings.ContainsAny(folder, patternChars) {
		var err error
		if folders, err = filepath.Glob(filepath.Clean(folder)); err != nil {
			return nil, err
		}
	}
	ext := filepath.Ext(base)
	segments := strings.TrimSuffix(base, ext) + "-*" + ext
	var paths []string
	for _, folder := range folders {
		names := namesIn(folder)
		for _, name := range names {
			if ok, _ := filepath.Match(base, name); !ok {
				if ok, _ := filepath.Match(segments, name); !ok {
					continue
				}
				order := tailOrderOf(name)
				if ok, _ := filepath.Match(base, order.log); !ok || order.live {
					continue
				}
			}
			paths = append(paths, filepath.Join(folder, name))
		}
		// A file can be there in a folder that cannot be listed.
		plain := filepath.Join(folder, base)
		if !strings.ContainsAny(base, patternChars) && !slices.Contains(names, base) {
			if _, err := os.Lstat(plain); err == nil {
				paths = append(paths, plain)
			}
		}
	}
	slices.Sort(paths)
	return paths, nil
}

// patternChars mean something in a pattern of filepath.Match.
const patternChars = `*?[\`

// namesIn returns the names in a folder. As in filepath.Glob, one that cannot be read holds none.
func namesIn(folder string) []string {
	if folder == "" {
		folder = "."
	}
	f, err := os.OpenFile(folder, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // it was only read
	names, _ := f.Readdirnames(-1)
	return names
}
