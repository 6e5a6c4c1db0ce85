//go:build linux

package cluster

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

// storage is what the volumes of pods are made of.
type storage struct {
	configs objects                      // where ConfigMaps are
	secrets map[string]map[string]string // name -> key -> value
	claims  map[string]string            // name -> folder
}

// pod is a pod of the chart on a node: its network and its volumes. Its containers are started one by one.
type pod struct {
	*netns
	spec    podSpec
	storage storage
	volumes map[string]string // name -> folder
}

// pod prepares a pod as a kubelet does: volumes get the group of fsGroup.
func (n *node) pod(t *testing.T, spec podSpec, st storage) *pod {
	t.Helper()
	p := &pod{netns: n.plug(t), spec: spec, storage: st, volumes: map[string]string{}}
	group := spec.SecurityContext.FSGroup
	for _, v := range spec.Volumes {
		dir := filepath.Join(n.dir, p.name, v.Name)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		switch {
		case v.Claim != nil:
			dir = st.claims[v.Claim.ClaimName]
			require.NotEmptyf(t, dir, "claim %s", v.Claim.ClaimName)
			giveToGroup(t, dir, group)
		case v.EmptyDir != nil:
			require.NoError(t, os.Chmod(dir, 0o777))
			giveToGroup(t, dir, group)
		case v.ConfigMap != nil:
			writeFiles(t, dir, 0o644, st.configs.get(t, "ConfigMap", v.ConfigMap.Name).Data)
		case v.Secret != nil:
			data, ok := st.secrets[v.Secret.SecretName]
			require.Truef(t, ok, "secret %s", v.Secret.SecretName)
			if len(v.Secret.Items) > 0 {
				chosen := map[string]string{}
				for _, item := range v.Secret.Items {
					require.Containsf(t, data, item.Key, "secret %s", v.Secret.SecretName)
					chosen[item.Path] = data[item.Key]
				}
				data = chosen
			}
			writeFiles(t, dir, 0o440, data)
			giveToGroup(t, dir, group)
		default:
			require.Failf(t, "a volume of a kind that is not known here", "%+v", v)
		}
		p.volumes[v.Name] = dir
	}
	return p
}

// giveToGroup does to a volume what a kubelet does for fsGroup. The owner stays.
func giveToGroup(t *testing.T, dir string, group uint32) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if err := os.Chown(path, -1, int(group)); err != nil {
			return err
		}
		mode := info.Mode().Perm() | 0o060
		if d.IsDir() {
			mode |= 0o010 | fs.ModeSetgid
		}
		return os.Chmod(path, mode)
	}))
}

func writeFiles(t *testing.T, dir string, mode fs.FileMode, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		require.NoError(t, os.Chmod(path, mode))
	}
}

// start starts a container: its user and groups, no way to more rights, a root file system that is
// read-only, the volumes, the pod's network, and nothing of the host's environment. cgroup is a folder
// of cgroupfs to run in, or empty.
func (p *pod) start(t *testing.T, name, cgroup string) *harness.Process {
	t.Helper()
	return harness.Start(t, p.command(t, name, cgroup))
}

// run runs a container to its end and returns its exit code and what it printed.
func (p *pod) run(t *testing.T, name string, within time.Duration) (int, string) {
	t.Helper()
	process := p.start(t, name, "")
	return process.Wait(within), process.Log()
}

func (p *pod) command(t *testing.T, name, cgroup string) *exec.Cmd {
	t.Helper()
	c := p.spec.container(t, name)
	require.True(t, c.SecurityContext.ReadOnlyRootFilesystem, "readOnlyRootFilesystem")
	user := p.spec.SecurityContext
	user.RunAsUser = cmp.Or(c.SecurityContext.RunAsUser, user.RunAsUser)
	user.RunAsGroup = cmp.Or(c.SecurityContext.RunAsGroup, user.RunAsGroup)
	require.NotZero(t, user.RunAsUser)

	// Folders to mount on, laid over the image's, as a container runtime makes them.
	dir := filepath.Join(p.node.dir, p.name, "container-"+name)
	points, root := filepath.Join(dir, "points"), filepath.Join(dir, "root")
	for _, d := range []string{root, points + "/proc", points + "/dev", points + "/etc", points + "/sys/fs/cgroup"} {
		require.NoError(t, os.MkdirAll(d, 0o755))
	}
	require.NoError(t, os.WriteFile(points+"/etc/hosts", nil, 0o600))

	var s strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&s, format+"\n", args...) }
	line("set -e")
	if cgroup != "" {
		line("echo $$ > %s/cgroup.procs", cgroup)
	}
	line("mount -t overlay overlay -o ro,lowerdir=%s:%s %s", points, p.node.root, root)
	line("mount --rbind /proc %s/proc", root)
	line("mount --rbind /sys/fs/cgroup %s/sys/fs/cgroup", root)
	line("mount -t tmpfs -o size=64k,mode=0755 dev %s/dev", root)
	line("for device in null zero urandom; do touch %[1]s/dev/$device; mount --bind /dev/$device %[1]s/dev/$device; done", root)
	line("mount -o remount,ro %s/dev", root)
	line("mount --bind %s %s/etc/hosts", p.node.hosts(t), root)
	line("mount -o remount,bind,ro %s/etc/hosts", root)
	for _, m := range c.VolumeMounts {
		require.NoError(t, os.MkdirAll(points+m.MountPath, 0o755))
		require.Containsf(t, p.volumes, m.Name, "volume of %s", name)
		line("mount --bind %s %s%s", p.volumes[m.Name], root, m.MountPath)
		if m.ReadOnly {
			line("mount -o remount,bind,ro %s%s", root, m.MountPath)
		}
	}
	line(`exec env -i "$@"`)

	args := []string{"--net=/run/netns/" + p.name, "unshare", "--mount", "--propagation", "private", "sh", "-c", s.String(), "sh"}
	environment := p.environment(t, c)
	for key, value := range environment {
		args = append(args, key+"="+value)
	}
	args = append(args, lookPath(t, "setpriv"), "--no-new-privs", lookPath(t, "chroot"),
		fmt.Sprintf("--userspec=%d:%d", user.RunAsUser, user.RunAsGroup), fmt.Sprintf("--groups=%d", user.FSGroup), root)
	for _, arg := range append(append([]string{}, c.Command...), c.Args...) {
		args = append(args, expand(arg, environment))
	}
	return exec.Command("nsenter", args...)
}

// environment returns the container's variables.
func (p *pod) environment(t *testing.T, c *container) map[string]string {
	t.Helper()
	values := map[string]string{}
	for _, e := range c.Env {
		value := e.Value
		if ref := e.ValueFrom.SecretKeyRef; ref.Name != "" {
			require.Containsf(t, p.storage.secrets[ref.Name], ref.Key, "secret %s", ref.Name)
			value = p.storage.secrets[ref.Name][ref.Key]
		}
		if e.ValueFrom.FieldRef.FieldPath == "status.podIP" {
			value = p.address
		}
		values[e.Name] = expand(value, values)
	}
	return values
}

// expand replaces $(NAME), as a kubelet does.
func expand(text string, values map[string]string) string {
	for name, value := range values {
		text = strings.ReplaceAll(text, "$("+name+")", value)
	}
	return text
}

func lookPath(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	require.NoError(t, err)
	return path
}
