// Package container says whether this process is in a container, whose loopback addresses lead to
// nothing but itself. It imports the standard library only, so that a producer can use it.
package container

import (
	"os"
	"strings"
)

// Kind returns "pod" in a Kubernetes pod, "container" in another container, and "" in none that can be
// told. getenv is os.Getenv outside of tests.
func Kind(getenv func(string) string) string {
	if getenv("KUBERNETES_SERVICE_HOST") != "" {
		return "pod"
	}
	if getenv("container") != "" { // Podman, LXC, systemd-nspawn
		return "container"
	}
	for _, marker := range []string{"/.dockerenv", "/run/.containerenv"} { // Docker's, Podman's
		if _, err := os.Stat(marker); err == nil {
			return "container"
		}
	}
	groups, err := os.ReadFile("/proc/1/cgroup") // says nothing with version 2 of control groups
	if err != nil {
		return ""
	}
	if strings.Contains(string(groups), "kubepods") {
		return "pod"
	}
	for _, engine := range []string{"docker", "containerd", "libpod"} {
		if strings.Contains(string(groups), engine) {
			return "container"
		}
	}
	return ""
}
