package tracefile

import (
	"errors"
	"os"
)

// Darwin can sync all volumes only, and does not say whether it could.
const canSyncVolume = false

func (osFileSystem) SyncVolume(*os.File) error { return errors.ErrUnsupported }
