package tracefile

import (
	"os"

	"golang.org/x/sys/unix"
)

const canSyncVolume = true

// SyncVolume brings everything to the disk that was written to the volume of dir, by whomever. It fails
// when some of it could not be written since dir was opened.
func (osFileSystem) SyncVolume(dir *os.File) error { return unix.Syncfs(int(dir.Fd())) }
