package harness

import (
	"syscall"
	"testing"
)

// MountTmpfs gives a small volume; options are those of mount, "size=24m" for example.
func MountTmpfs(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		Missing(t, "a small tmpfs", "run as root: "+err.Error())
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}
