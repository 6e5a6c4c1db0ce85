package tracefile

import (
	"cmp"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
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

// tailGlob returns the files that a pattern names, and the segments of the logs that it names.
func tailGlob(pattern string) ([]string, error) {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	ext := filepath.Ext(pattern)
	segments, err := filepath.Glob(strings.TrimSuffix(pattern, ext) + "-*" + ext)
	if err != nil {
		return nil, err
	}
	for _, segment := range segments {
		order := tailOrderOf(segment)
		if ok, _ := filepath.Match(pattern, order.log); ok && !order.live {
			paths = append(paths, segment)
		}
	}
	return paths, nil
}
