package tracefile

import (
	"bytes"
	"errors"
	"io"
)

// cutLines reads the whole lines that begin at start, as many as fit into buf, and returns them with
// the offset after them; end is 0 when there is none up to size. A line longer than buf comes alone, in
// memory of its own. One longer than maxLine is found to its end but not kept: its data is nil. The
// caller knows that there is no newline in [start, lookFrom).
func cutLines(file io.ReaderAt, start, lookFrom, size int64, buf []byte, maxLine int64) (data []byte, end int64, err error) {
	if lookFrom == start {
		buf = buf[:min(size-start, int64(len(buf)))]
		n, err := file.ReadAt(buf, start)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, 0, err
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return buf[:i+1], start + int64(i) + 1, nil
		}
		lookFrom = start + int64(n)
	}
	// The line goes on behind what a batch holds, or was not whole when it was last looked at: its
	// end is looked for from there, so that a line which grows slowly is not read again and again.
	newline, err := tailFindNewline(file, lookFrom, size)
	if err != nil || newline < 0 {
		return nil, 0, err
	}
	end = newline + 1
	if end-start > maxLine {
		return nil, end, nil
	}
	data = make([]byte, end-start)
	if _, err := file.ReadAt(data, start); err != nil {
		return nil, 0, err
	}
	return data, end, nil
}
