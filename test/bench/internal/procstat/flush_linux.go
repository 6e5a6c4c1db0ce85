package procstat

import "syscall"

// FlushDisk writes everything to the disk that waits for it, whoever wrote it.
func FlushDisk() { syscall.Sync() }
