package page

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/runspan/runspan/test/e2e/harness"
)

// startView starts `runspan view` on files, at host:port, and waits until it answers.
func startView(t *testing.T, address string, flags ...string) *harness.Process {
	t.Helper()
	host, port, _ := strings.Cut(address, ":")
	arguments := append([]string{"view", "--host", host, "--port", port, "--cache", ""}, flags...)
	process := harness.Start(t, exec.Command(harness.CommandLine(t), arguments...))
	waitAnswer(t, address)
	return process
}

// startCollector starts the collector with a config and waits until its viewer answers.
func startCollector(t *testing.T, config string) *harness.Collector {
	t.Helper()
	collector := harness.StartCollector(t, harness.CollectorSettings{Config: config})
	waitAnswer(t, collector.Viewer)
	return collector
}

func waitAnswer(t *testing.T, address string) {
	t.Helper()
	harness.WaitFor(t, within, "the viewer to answer", func() error {
		resp, err := http.Get("http://" + address + "/api/health")
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
}
