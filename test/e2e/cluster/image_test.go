//go:build linux

package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

// The image is built once for all tests of the package, and removed with its container at the end.
var image struct {
	sync.Once
	root string
	err  error
	said string
}

// Names of this process's own: two may run at once.
var (
	imageName      = fmt.Sprintf("localhost/runspan-e2e-%d", os.Getpid())
	imageContainer = fmt.Sprintf("runspan-e2e-%d", os.Getpid())
)

// imageRoot builds the image with scripts/image.sh and buildah and returns its root file system.
func imageRoot(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("buildah"); err != nil {
		harness.Missing(t, "buildah", "install Debian's buildah")
	}
	image.Do(func() {
		cmd := exec.Command(filepath.Join(harness.Root(t), "scripts", "image.sh"))
		cmd.Env = append(os.Environ(), "IMAGE="+imageName, "IMAGE_BUILDER=buildah", "IMAGE_VERSION=test", "IMAGE_ARCHES="+runtime.GOARCH)
		if image.root, image.said, image.err = output(cmd); image.err != nil {
			return
		}
		if _, image.said, image.err = output(exec.Command("buildah", "from", "--name", imageContainer, imageName+":test-"+runtime.GOARCH)); image.err != nil {
			return
		}
		image.root, image.said, image.err = output(exec.Command("buildah", "mount", imageContainer))
	})
	require.NoError(t, image.err, image.said)
	return image.root
}

func output(cmd *exec.Cmd) (out, complaint string, err error) {
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return strings.TrimSpace(stdout.String()), stderr.String(), err
}

func TestMain(m *testing.M) {
	code := m.Run()
	if image.root != "" {
		_ = exec.Command("buildah", "rm", imageContainer).Run()
		_ = exec.Command("buildah", "rmi", imageName+":test-"+runtime.GOARCH).Run()
	}
	os.Exit(code)
}
