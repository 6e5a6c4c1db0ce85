package tracefile

// CompareFiles orders trace files as they were written: by log, the closed segments of each by time
// and number, the live file last.
func CompareFiles(a, b string) int { return tailOrderOf(a).compare(tailOrderOf(b)) }
