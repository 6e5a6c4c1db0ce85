package tracefile

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// settleMoved is for lines that are not where they were written. Another program has appended to the
// file, and they stand further on; or has truncated it; or the disk has lost them. Whole lines stay,
// whoever wrote them: readers may have them already. What is no line is moved aside, and the lines
// behind it come back. It returns the size afterwards, and which of the lines are there.
func (a *Appender) settleMoved(f file, size int64, moved []writtenLine) (int64, []writtenLine, error) {
	missing := make(map[lineKey]writtenLine, len(moved))
	for _, line := range moved {
		missing[line.key] = line
	}
	from := moved[0].start
	if from >= size {
		from = max(0, size-crashWindow) // the file is shorter than it was: they may be anywhere
	}
	from, err := lastLineEnd(f, from)
	if err != nil {
		return 0, nil, err
	}
	var there []writtenLine
	bad := int64(-1)
	reader := bufio.NewReaderSize(io.NewSectionReader(f, from, size-from), 64<<10)
	for at := from; ; {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break // what is behind the last newline is settleTail's
		}
		if err != nil {
			return 0, nil, err
		}
		key := a.window.hash(line)
		ours, known := missing[key]
		switch {
		case known:
			delete(missing, key)
			there = append(there, writtenLine{key: ours.key, start: at, end: at + int64(len(line))})
		case !json.Valid(line):
			if bad < 0 {
				bad = at
			}
			at += int64(len(line))
			continue
		}
		if bad >= 0 {
			a.rescue = append(a.rescue, line...)
		}
		at += int64(len(line))
	}
	if bad >= 0 {
		if err := a.moveAside(f, bad, size); err != nil {
			a.rescue = nil
			return 0, nil, err
		}
		size = bad
	} else if err := a.rewrite(f, there); err != nil {
		return 0, nil, err
	}
	gone := make([]writtenLine, 0, len(missing))
	for _, line := range moved {
		if _, ok := missing[line.key]; ok {
			gone = append(gone, line)
			a.window.settle(line.key, false)
		}
	}
	if len(gone) > 0 {
		a.lost(len(gone), fmt.Errorf("%s does not hold anymore what was written", a.opts.Path))
		a.abandonWaiting(gone)
	}
	return size, there, nil
}
