package procstat

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// CPU returns the user and system time that the process has used, of all its threads, also of those
// that have ended. It reads the process's clock (clock_getcpuclockid(3)), which counts nanoseconds:
// /proc/PID/stat counts hundredths of a second, 1 % of a round.
func CPU(pid int) (time.Duration, error) {
	const scheduler = 2 // CPUCLOCK_SCHED
	return clock(int32(^pid)<<3 | scheduler)
}

// ThreadCPU returns the user and system time of the calling thread. The caller must hold the thread
// (runtime.LockOSThread).
func ThreadCPU() (time.Duration, error) {
	return clock(unix.CLOCK_THREAD_CPUTIME_ID)
}

func clock(id int32) (time.Duration, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(id, &ts); err != nil {
		return 0, fmt.Errorf("read CPU clock %d: %w", id, err)
	}
	return time.Duration(ts.Nano()), nil
}
