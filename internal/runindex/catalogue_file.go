package runindex

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// file is one trace file, wherever it is now.
type file struct {
	id          uint32
	path        string
	fingerprint string
	size        int64 // when it was last looked at
	read        int64 // behind the last line that was read
	lookFrom    int64 // there is no newline in [read, lookFrom)
	parts       map[string]*part
	badLines    int64
	bad         []BadLine // the first ones, without the path
	problem     string
	proof       proof

	// Of the goroutine that calls Run.
	info        os.FileInfo
	initial     int64 // the size at the first look
	doubted     bool  // it may have been changed without growing
	blocked     bool  // nothing to be read before the next look
	seen        int64 // the size at seenAt
	seenAt      time.Time
	settled     int64 // what the size was more than settleTime ago
	shrunkSince time.Time
	tornSince   time.Time // since when there is no newline before read
	goneSince   time.Time
	lookAgain   time.Time // when to look for the end of the last line from its beginning
	grown       time.Time
}

// mostBadLines is how many bad lines of a file are kept with their places.
const mostBadLines = 100

func (f *file) unread() bool {
	return !f.blocked && f.shrunkSince.IsZero() && f.goneSince.IsZero() && (f.lookFrom < f.size || f.doubted)
}

// openRegular opens a file to read it. The open of a FIFO would wait for a writer.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", path)
	}
	if err != nil {
		_ = f.Close() // it was only read
		return nil, err
	}
	return f, nil
}
