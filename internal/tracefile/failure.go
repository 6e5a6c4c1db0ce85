package tracefile

import (
	"context"
	"errors"
	"io/fs"
	"syscall"
)

var (
	// ErrHanging is returned while the disk does not answer.
	ErrHanging = errors.New("the disk hangs")
	// ErrInDoubt is returned for lines whose fsync failed: they may be on the disk or not. A retry
	// is safe: what turns out to be there is not written again.
	ErrInDoubt = errors.New("not certain to be on the disk")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("the writer is closed")
	// ErrLocked is returned when the file has another writer.
	ErrLocked = errors.New("the file has another writer")
)

// The reasons of failures, as they stand in metrics.
const (
	ReasonClosed     = "closed"
	ReasonCanceled   = "canceled"
	ReasonHanging    = "hanging"
	ReasonInDoubt    = "sync_failed"
	ReasonLocked     = "locked"
	ReasonMissing    = "folder_missing"
	ReasonNoSpace    = "no_space"
	ReasonPermission = "permission"
	ReasonReadOnly   = "read_only"
	ReasonStale      = "stale"
	ReasonOther      = "io"
)

// Reason says in one word why an Append failed.
func Reason(err error) string {
	switch {
	case errors.Is(err, ErrClosed):
		return ReasonClosed
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return ReasonCanceled
	case errors.Is(err, ErrHanging):
		return ReasonHanging
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return ReasonNoSpace
	case errors.Is(err, ErrInDoubt):
		return ReasonInDoubt
	case errors.Is(err, ErrLocked):
		return ReasonLocked
	case errors.Is(err, syscall.ESTALE):
		return ReasonStale
	case errors.Is(err, syscall.EROFS):
		return ReasonReadOnly
	case errors.Is(err, fs.ErrPermission):
		return ReasonPermission
	case errors.Is(err, fs.ErrNotExist):
		return ReasonMissing
	}
	return ReasonOther
}
