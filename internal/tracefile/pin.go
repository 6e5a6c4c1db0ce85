package tracefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// PinSuffix is added to the name of a live file for the marker that pins its log: retention deletes
// neither the file nor a segment of it while NAME.jsonl.pinned is there. What is in the marker does
// not matter.
const PinSuffix = ".pinned"

// Pin keeps the log of a trace file, which may be given by any of its files, from being deleted. To
// pin it twice is no error.
func Pin(path string) error {
	live, _ := LiveFile(path)
	f, err := os.OpenFile(live+PinSuffix, os.O_WRONLY|os.O_CREATE|os.O_APPEND, fileMode)
	if err != nil {
		return fmt.Errorf("pinning %s: %w", live, err)
	}
	_, err = fmt.Fprintf(f, "pinned at %s\n", time.Now().UTC().Format(time.RFC3339))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("pinning %s: %w", live, err)
	}
	return osFileSystem{}.SyncDir(filepath.Dir(live))
}

// Unpin takes the marker away. It is no error when there is none.
func Unpin(path string) error {
	live, _ := LiveFile(path)
	if err := os.Remove(live + PinSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("unpinning %s: %w", live, err)
	}
	return nil
}

// Pinned reports whether a log is pinned. Where that cannot be told it is: the error is returned with
// true.
func Pinned(path string) (bool, error) {
	live, _ := LiveFile(path)
	_, err := os.Lstat(live + PinSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return true, err
}
