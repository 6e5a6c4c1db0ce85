package producer

import (
	"fmt"
	"strings"
	"time"

	"github.com/runspan/runspan/internal/runid"
)

// NewRunID makes a run id: YYYYmmdd-HHMMSS-PID-8hex, in local time, as XTuner does.
func NewRunID() string { return runid.New(time.Now()) }

// checkRunID refuses what a collector would not take as the id of a run.
func checkRunID(id, setting string) error {
	if err := runid.Check(id); err != nil {
		return settingError(setting, "%.300q %v: leave it empty and one is made", id, err)
	}
	if id == runid.Unassigned {
		return settingError(setting, "%q is the run of the spans that have none: take another", id)
	}
	return nil
}

// checkFolderName refuses run ids that cannot be the name of the run's folder.
func checkFolderName(id, setting string) error {
	if len(id) > 255 || strings.HasPrefix(id, ".") || strings.ContainsAny(id, `/\{}`) {
		return &SettingError{
			Settings: []string{setting, "LocalCollector"},
			Problem:  fmt.Sprintf("%q cannot be the name of the folder in which the local collector writes: no /, \\, { or }, no dot at the beginning, at most 255 bytes", id),
		}
	}
	return nil
}
