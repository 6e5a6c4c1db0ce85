package procstat

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// PeakMemory returns the most memory in bytes that the process has held since it started (VmHWM).
func PeakMemory(pid int) (uint64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("peak memory of process %d: %w", pid, err)
	}
	return kibibytes(status, "VmHWM")
}

// kibibytes returns, in bytes, the value of a line such as "VmHWM:  61234 kB".
func kibibytes(file []byte, key string) (uint64, error) {
	for scanner := bufio.NewScanner(bytes.NewReader(file)); scanner.Scan(); {
		name, value, ok := strings.Cut(scanner.Text(), ":")
		if !ok || name != key {
			continue
		}
		number, unit, _ := strings.Cut(strings.TrimSpace(value), " ")
		n, err := strconv.ParseUint(number, 10, 54) // 54 bits: times 1024 still fits
		if err != nil || unit != "kB" {
			return 0, fmt.Errorf("%s is %q, expected a number of kB", key, value)
		}
		return n * 1024, nil
	}
	return 0, fmt.Errorf("no line %s", key)
}
