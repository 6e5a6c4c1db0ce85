package tracefile

import (
	"os"
	"syscall"
	"time"
)

// birthTime returns when a file was made; where the file system does not say, when it was last written.
func birthTime(_ file, info os.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Birthtimespec.Unix())
	}
	return info.ModTime()
}
