package producer

import (
	"os"
	"strings"
)

// inContainer reports whether this process is in a container: there the loopback address leads to the
// container or pod itself.
func inContainer(env environment) bool {
	if env.get("KUBERNETES_SERVICE_HOST") != "" || env.get("container") != "" {
		return true
	}
	for _, mark := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(mark); err == nil {
			return true
		}
	}
	groups, err := os.ReadFile("/proc/1/cgroup")
	if err != nil {
		return false
	}
	for _, word := range []string{"docker", "kubepods", "containerd", "libpod"} {
		if strings.Contains(string(groups), word) {
			return true
		}
	}
	return false
}

const loopbackWarning = "the endpoint %s is on the loopback address, and this process is in a container: other pods reach themselves there, " +
	"and this one only a collector in the same pod; take the address of the collector's Service or host"
