package runid

import (
	"crypto/rand"
	"fmt"
	"os"
	"time"
)

// New returns the id of a run that this process begins at a time: YYYYmmdd-HHMMSS-PID-8hex, in local
// time, as XTuner makes it. Two of them never meet in practice, also not of processes in two
// containers with the same process id.
func New(at time.Time) string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	return fmt.Sprintf("%s-%d-%x", at.Format("20060102-150405"), os.Getpid(), random)
}
