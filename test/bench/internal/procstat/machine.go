package procstat

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
)

// Machine describes where figures were measured, without names of hosts or folders.
type Machine struct {
	Processor  string `json:"processor"`
	Cores      int    `json:"cores"`
	MemoryMiB  uint64 `json:"memory_mib"`
	Kernel     string `json:"kernel"`
	FileSystem string `json:"file_system"` // of the folder that the collectors write to
	Go         string `json:"go"`          // that the collector was built with
	Revision   string `json:"revision"`    // of the collector's source; "+" behind it: with changes; empty: built without git
}

// Describe returns the machine, the file system of the folder dir, and how the program in the file
// binary was built.
func Describe(binary, dir string) (Machine, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return Machine{}, fmt.Errorf("no collector in %q: %w: build it with `make build`", binary, err)
	}
	m := Machine{Cores: runtime.NumCPU(), Go: info.GoVersion, Kernel: "unknown", FileSystem: fileSystem(dir)}
	modified := false
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			m.Revision = setting.Value[:min(12, len(setting.Value))]
		case "vcs.modified":
			modified = setting.Value == "true"
		}
	}
	if modified && m.Revision != "" {
		m.Revision += "+"
	}
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		m.Processor = processor(b)
	}
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		if bytes, err := kibibytes(b, "MemTotal"); err == nil {
			m.MemoryMiB = bytes >> 20
		}
	}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = "Linux " + kernelVersion(string(b))
	}
	return m, nil
}

// processor returns the first "model name" of /proc/cpuinfo, the architecture where there is none.
func processor(cpuinfo []byte) string {
	for line := range bytes.Lines(cpuinfo) {
		if name, value, ok := strings.Cut(string(line), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

var versionNumbers = regexp.MustCompile(`^\d+(\.\d+)*`)

// kernelVersion keeps the numbers of a release only: what follows them may name who runs the host.
func kernelVersion(release string) string {
	return versionNumbers.FindString(release)
}
