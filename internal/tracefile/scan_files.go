package tracefile

import (
	"io"
	"os"
)

// CompareFiles orders trace files as they were written: by log, the closed segments of each by time
// and number, the live file last.
func CompareFiles(a, b string) int { return tailOrderOf(a).compare(tailOrderOf(b)) }

// FileID tells the files of one host apart, by whatever names they are reached. It is comparable.
type FileID = fileID

// FileIDOf returns the FileID of a file, false where the system has none.
func FileIDOf(info os.FileInfo) (FileID, bool) { return fileIDOf(info) }

// Fingerprint returns what a trace file is known by, a hash of its first line, or "" as long as it has
// none; docs/file-format.md says why it is no inode. A first line with zeros in it is none, unless it has
// settled: a network file system shows them for a page that it has not fetched yet. The error is one of
// reading.
func Fingerprint(f io.ReaderAt, settled bool) (string, error) { return firstLineHash(f, settled) }

// Glob returns the files that a pattern of path/filepath.Match names, and the segments of the logs that
// it names. The error is that of a bad pattern.
func Glob(pattern string) ([]string, error) { return tailGlob(pattern) }

// CutLines reads the whole lines of a file that begin at start, as many as fit into buf, and returns them
// with the offset after them; end is 0 when there is none up to size. A line longer than buf comes alone,
// in memory of its own. One longer than maxLine is found to its end but not kept: its data is nil. The
// caller knows that there is no newline in [start, lookFrom).
func CutLines(file io.ReaderAt, start, lookFrom, size int64, buf []byte, maxLine int64) (data []byte, end int64, err error) {
	return cutLines(file, start, lookFrom, size, buf, maxLine)
}
