package tracefile

import "os"

// CompareFiles orders trace files as they were written: by log, the closed segments of each by time
// and number, the live file last.
func CompareFiles(a, b string) int { return tailOrderOf(a).compare(tailOrderOf(b)) }

// FileID tells the files of one host apart, by whatever names they are reached. It is comparable.
type FileID = fileID

// FileIDOf returns the FileID of a file, false where the system has none.
func FileIDOf(info os.FileInfo) (FileID, bool) { return fileIDOf(info) }
