//go:build linux

package cluster

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

// TestImage checks what is in the image: two static programs, certificates, no way to write.
func TestImage(t *testing.T) {
	root := imageRoot(t)
	var files []string
	require.NoError(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if rel != "traces" {
			require.Zerof(t, info.Mode().Perm()&0o022, "%s may be written by others than root", rel)
			owner, _ := info.Sys().(*syscall.Stat_t)
			require.Zerof(t, owner.Uid, "owner of %s", rel)
		}
		if d.Type().IsRegular() {
			files = append(files, rel)
		}
		return nil
	}))
	require.ElementsMatch(t, []string{
		"LICENSE", "otelcol-runspan", "runspan", "etc/runspan/config.yaml", "etc/ssl/certs/ca-certificates.crt",
	}, files)
}

// TestImage_Alone runs the image with its own command and environment, as `docker run` does, on a volume.
func TestImage_Alone(t *testing.T) {
	n := newNode(t)
	out, complaint, err := output(exec.Command("buildah", "inspect", "--type", "container", imageContainer))
	require.NoError(t, err, complaint)
	var inspected struct {
		OCIv1 struct {
			Config struct {
				User            string
				Env             []string
				Entrypoint, Cmd []string
				Labels          map[string]string
				Volumes         map[string]struct{}
			} `json:"config"`
		} `json:"OCIv1"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &inspected))
	config := inspected.OCIv1.Config
	require.Equal(t, "10001:10001", config.User)
	require.Contains(t, config.Volumes, "/traces")
	for _, label := range []string{"title", "description", "source", "licenses", "version", "revision"} {
		require.NotEmpty(t, config.Labels["org.opencontainers.image."+label], label)
	}

	var c container
	c.Name, c.Command, c.Args = "collector", config.Entrypoint, config.Cmd
	c.SecurityContext.RunAsUser, c.SecurityContext.RunAsGroup, c.SecurityContext.ReadOnlyRootFilesystem = 10001, 10001, true
	for _, variable := range config.Env {
		name, value, _ := strings.Cut(variable, "=")
		c.Env = append(c.Env, environmentVariable{Name: name, Value: value})
	}
	c.VolumeMounts = append(c.VolumeMounts, volumeMount{Name: "traces", MountPath: "/traces"})
	claim := harness.WorldTempDir(t)
	require.NoError(t, os.Chown(claim, 10001, 10001)) // as the folder in the image, which a new volume takes after
	spec := podSpec{Containers: []container{c}, Volumes: []volume{{Name: "traces", Claim: &claimSource{ClaimName: "traces"}}}}
	spec.SecurityContext.FSGroup = 10001
	p := n.pod(t, spec, storage{claims: map[string]string{"traces": claim}})
	process := p.start(t, "collector", "")
	harness.WaitFor(t, 30*time.Second, "the collector to be ready", func() error {
		return p.getOK(t.Context(), "http://"+p.address+":13133/")
	})
	s := n.plug(t).sender(t, p.address+":4317", nil)
	require.NoError(t, s.send(t.Context(), 10))
	require.NoError(t, p.getOK(t.Context(), "http://"+p.address+":18318/api/health"))
	require.Zero(t, process.Stop(30*time.Second), process.Log())
	s.requireWritten(t, filepath.Join(claim, "traces.jsonl"))
}

// TestRights checks, from the outside, what the collector may do as the chart runs it.
func TestRights(t *testing.T) {
	d := newNode(t).deploy(t, renderExample(t, "default"), nil)
	c := d.start(t, "")
	status, err := os.ReadFile("/proc/" + strconv.Itoa(c.PID()) + "/status")
	require.NoError(t, err)
	for name, value := range map[string]string{
		"Uid": "10001 10001 10001 10001", "Gid": "10001 10001 10001 10001", "Groups": "10001",
		"CapEff": "0000000000000000", "CapPrm": "0000000000000000", "NoNewPrivs": "1",
	} {
		require.Contains(t, strings.Join(strings.Fields(string(status)), " "), name+": "+value)
	}
	mounts, err := os.ReadFile("/proc/" + strconv.Itoa(c.PID()) + "/mountinfo")
	require.NoError(t, err)
	writable := map[string]bool{}
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		// Paths are seen from the container's root; what is outside of it is not reached.
		if options := strings.Split(fields[5], ","); options[0] == "rw" {
			writable[fields[4]] = true
		}
	}
	require.True(t, writable["/traces"], string(mounts))
	require.True(t, writable["/places"], string(mounts))
	for path := range writable {
		switch {
		case path == "/traces", path == "/places", strings.HasPrefix(path, "/proc"), strings.HasPrefix(path, "/sys"), strings.HasPrefix(path, "/dev/"):
		default:
			t.Errorf("%s is mounted writable", path)
		}
	}
	c.stop(t)
}

// TestTerminate stops the pod under load, and starts the next one on the same volumes, several times:
// everything that was acknowledged is in the file, and no pod has to be killed. The volumes are root's,
// and the collector may write them by the chart's fsGroup alone.
func TestTerminate(t *testing.T) {
	t.Parallel()
	for example, want := range map[string]struct {
		file   string
		rounds int
	}{
		"default": {"/traces/traces.jsonl", 4},
		// durability: sync, another fsGroup, and two backends that are down: each end takes ten seconds.
		"shared-volume": {"/mnt/shared/tracing/traces.jsonl", 2},
	} {
		t.Run(example, func(t *testing.T) {
			d := newNode(t).deploy(t, renderExample(t, example), testSecrets)
			worker := d.node.plug(t)
			d.node.name(serviceHost, serviceAddress)
			s := worker.sender(t, serviceHost+":4317", nil)
			stop := s.load(t, 8, 50, 50*time.Millisecond)
			for range want.rounds {
				c := d.start(t, "")
				before := s.count()
				require.Eventually(t, func() bool { return s.count() > before+2000 }, 30*time.Second, 20*time.Millisecond)
				c.stop(t)
				c.unplug(t)
			}
			stop()
			t.Logf("%d spans acknowledged, %d requests refused", s.count(), s.refusals())
			s.requireWritten(t, d.file(t, want.file))

			info, err := os.Stat(d.file(t, want.file))
			require.NoError(t, err)
			owner, _ := info.Sys().(*syscall.Stat_t)
			require.EqualValues(t, 10001, owner.Uid)
			require.Equal(t, d.collectorSpec(t).SecurityContext.FSGroup, owner.Gid, "the group of the volume")
			require.EqualValues(t, 0o044, info.Mode().Perm()&0o044, "readers are others")
		})
	}
}
