package tracefile

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// SegmentPath returns the name under which the live file at path is closed at a time:
// NAME-<UTC time>-<n>.jsonl beside it. The number, from 1 on, tells those of one second apart.
func SegmentPath(path string, at time.Time, number int) string {
	ext := filepath.Ext(path)
	return fmt.Sprintf("%s-%s-%d%s", strings.TrimSuffix(path, ext), at.UTC().Format("20060102T150405Z"), number, ext)
}

// LiveFile returns the live file of the log that a path belongs to, and whether the path is one of
// its closed segments; the live file itself is its own.
func LiveFile(path string) (live string, closed bool) {
	order := tailOrderOf(path)
	return order.log, !order.live
}
