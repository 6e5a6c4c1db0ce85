package harness

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// readyWithin is how long a process may take until it serves. Ours needs well under a second; a
// busy machine with two cores gets the rest.
const readyWithin = 30 * time.Second

// Collector is our binary, started with one of the configs of the repository.
type Collector struct {
	*Process
	GRPC    string // host:port
	HTTP    string // host:port
	Health  string // host:port
	Metrics string // host:port
	Viewer  string // host:port
	Data    string // the data folder
}

// CollectorSettings say how to start a Collector. The zero value is `configs/local.yaml` on free
// ports with an empty data folder and no Jaeger.
type CollectorSettings struct {
	Config string // a file in configs/, or an absolute path; default local.yaml
	Data   string // default: a new folder of the test
	Jaeger string // host:port of a Jaeger's OTLP/gRPC; default: a port where nobody listens

	// Unprivileged runs the collector as a user for whom permissions count, also when the tests run
	// as root.
	Unprivileged bool
}

// StartCollector starts our collector and waits until it serves.
func StartCollector(t *testing.T, set CollectorSettings) *Collector {
	t.Helper()
	c := LaunchCollector(t, set)
	c.WaitReady(t)
	return c
}

// LaunchCollector starts our collector without waiting, for tests of starts that fail.
func LaunchCollector(t *testing.T, set CollectorSettings) *Collector {
	t.Helper()
	if set.Config == "" {
		set.Config = "local.yaml"
	}
	if !filepath.IsAbs(set.Config) {
		set.Config = filepath.Join(Root(t), "configs", set.Config)
	}
	if set.Data == "" {
		set.Data = filepath.Join(t.TempDir(), "data")
	}
	ports := FreePorts(t, 6)
	if set.Jaeger == "" {
		set.Jaeger = ports[4]
	}
	c := &Collector{GRPC: ports[0], HTTP: ports[1], Health: ports[2], Metrics: ports[3], Viewer: ports[5], Data: set.Data}
	binary := Binary(t)
	if set.Unprivileged && os.Geteuid() == 0 {
		// The checkout may be in a folder that only root can enter.
		dir := WorldTempDir(t)
		binary, set.Config = copyFile(t, binary, dir, 0o755), copyFile(t, set.Config, dir, 0o644)
	}
	cmd := exec.Command(binary, "--config", set.Config)
	if set.Unprivileged && os.Geteuid() == 0 {
		const nobody = 65534
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		cmd.Dir = "/"
	}
	cmd.Env = append(os.Environ(),
		"RUNSPAN_DATA="+c.Data,
		"RUNSPAN_OTLP_GRPC="+c.GRPC,
		"RUNSPAN_OTLP_HTTP="+c.HTTP,
		"RUNSPAN_HEALTH="+c.Health,
		"RUNSPAN_METRICS="+c.Metrics,
		"RUNSPAN_VIEWER="+c.Viewer,
		"RUNSPAN_JAEGER="+set.Jaeger,
	)
	c.Process = Start(t, cmd)
	return c
}

// WaitReady returns when the collector's health check answers 200.
func (c *Collector) WaitReady(t *testing.T) {
	t.Helper()
	WaitFor(t, readyWithin, "the collector to be ready", func() error {
		select {
		case <-c.Ended():
			t.Fatalf("the collector ended with code %d", c.Wait(0))
		default:
		}
		return getOK(t.Context(), "http://"+c.Health)
	})
}

// TraceFile returns the path of the shared trace file.
func (c *Collector) TraceFile() string { return filepath.Join(c.Data, "traces.jsonl") }

// WorldTempDir returns a folder of the test that every user can enter.
func WorldTempDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	// t.TempDir makes a folder for its owner alone and one below it for each call.
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func copyFile(t *testing.T, from, dir string, mode os.FileMode) string {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, filepath.Base(from))
	if err := os.WriteFile(to, data, mode); err != nil {
		t.Fatal(err)
	}
	return to
}

// WaitFor polls until ready returns nil, and fails the test with its last error after the time.
func WaitFor(t *testing.T, within time.Duration, what string, ready func() error) {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		err := ready()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited %s for %s: %v", within, what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func getOK(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, resp.Status)
	}
	return nil
}
