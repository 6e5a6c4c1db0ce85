package tracefile

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// birthTime returns when a file was made; where the file system does not say, when it was last written.
func birthTime(f file, info os.FileInfo) time.Time {
	open, ok := f.(interface{ Fd() uintptr })
	if !ok {
		return info.ModTime()
	}
	var st unix.Statx_t
	err := unix.Statx(int(open.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &st)
	if err != nil || st.Mask&unix.STATX_BTIME == 0 {
		return info.ModTime()
	}
	return time.Unix(st.Btime.Sec, int64(st.Btime.Nsec))
}
