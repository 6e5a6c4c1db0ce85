package doctor

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/test/e2e/harness"
)

// namespace is a network of its own, as a pod has it, held by a process that sleeps.
type namespace struct{ pid int }

// enter returns the program that runs another one in the namespace.
func (n namespace) enter() []string {
	as := []string{"nsenter", "--target", strconv.Itoa(n.pid), "--net"}
	if os.Geteuid() != 0 {
		as = append(as, "--user", "--preserve-credentials")
	}
	return as
}

// pods returns two namespaces with a wire between them, 10.99.0.1 and 10.99.0.2. Nothing of it is in
// the network of the tests.
func pods(t *testing.T) (collector, worker namespace) {
	t.Helper()
	for _, tool := range []string{"ip", "unshare", "nsenter"} {
		if _, err := exec.LookPath(tool); err != nil {
			harness.Missing(t, tool, "install iproute2 and util-linux")
		}
	}
	alone := []string{"unshare", "--net"}
	if os.Geteuid() != 0 {
		alone = append(alone, "--user", "--map-root-user")
	}
	if out, err := exec.CommandContext(t.Context(), alone[0], append(alone[1:], "true")...).CombinedOutput(); err != nil {
		harness.Missing(t, fmt.Sprintf("the right to make network namespaces (%v: %s)", err, out), "run the tests as root, or where user namespaces are allowed")
	}
	hold := func(args ...string) namespace {
		p := harness.Start(t, exec.Command(args[0], append(args[1:], "sleep", "300")...))
		n := namespace{p.PID()}
		own, err := os.Readlink("/proc/self/ns/net")
		require.NoError(t, err)
		harness.WaitFor(t, 5*time.Second, "a namespace", func() error {
			link, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", n.pid))
			command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", n.pid))
			if err == nil && (link == own || string(command) != "sleep\n") {
				err = fmt.Errorf("%s is still in %s", command, link)
			}
			return err
		})
		return n
	}
	collector = hold(alone...)
	// In the same user namespace, whose root may lay the wire.
	worker = hold(append(collector.enter(), "unshare", "--net")...)
	ip := func(n namespace, commands ...string) {
		for _, command := range commands {
			as := append(n.enter(), append([]string{"ip"}, strings.Fields(command)...)...)
			out, err := exec.CommandContext(t.Context(), as[0], as[1:]...).CombinedOutput()
			require.NoError(t, err, "ip %s: %s", command, out)
		}
	}
	ip(collector, fmt.Sprintf("link add eth0 type veth peer name eth0 netns %d", worker.pid),
		"link set lo up", "addr add 10.99.0.1/24 dev eth0", "link set eth0 up")
	ip(worker, "link set lo up", "addr add 10.99.0.2/24 dev eth0", "link set eth0 up")
	return collector, worker
}

// A trainer's pod with a collector, and a worker in another one: the address that serves the one is no
// address for the other.
func TestPods(t *testing.T) {
	collector, worker := pods(t)
	data := t.TempDir()
	as := append(collector.enter(), harness.Binary(t), "--config", harness.Root(t)+"/configs/local.yaml")
	cmd := exec.Command(as[0], as[1:]...)
	cmd.Env = append(os.Environ(), "RUNSPAN_DATA="+data, "RUNSPAN_OTLP_GRPC=0.0.0.0:4317", "RUNSPAN_OTLP_HTTP=0.0.0.0:4318")
	p := harness.Start(t, cmd)
	harness.WaitFor(t, 30*time.Second, "the collector to be ready", func() error {
		if !strings.Contains(p.Log(), "Everything is ready") {
			return fmt.Errorf("it said: %s", p.Log())
		}
		return nil
	})
	file := data + "/traces.jsonl"

	t.Run("the collector's own pod", func(t *testing.T) {
		requireWell(t, diagnoseIn(t, nil, collector.enter(), "--endpoint", "http://127.0.0.1:4317", "--trace-jsonl", file))
	})
	t.Run("a worker with the loopback address", func(t *testing.T) {
		r := diagnoseIn(t, nil, worker.enter(), "--endpoint", "http://127.0.0.1:4317", "--trace-jsonl", file)
		requireFinding(t, r, "loopback", 11, "change: --endpoint http://127.0.0.1:4317")
	})
	t.Run("a worker with an address that it can reach", func(t *testing.T) {
		r := diagnoseIn(t, nil, worker.enter(), "--endpoint", "http://10.99.0.1:4317", "--trace-jsonl", file)
		requireWell(t, r)
		require.Equal(t, "ok", r.states()["clock"], "by the HTTP port beside it")
		requireWell(t, diagnoseIn(t, nil, worker.enter(), "--endpoint", "http://10.99.0.1:4318", "--trace-jsonl", file))
	})
	t.Run("the wrong port of it", func(t *testing.T) {
		requireFinding(t, diagnoseIn(t, nil, worker.enter(), "--endpoint", "http://10.99.0.1:4319"), "refused", 12, "nothing listens on 10.99.0.1:4319")
	})
	t.Run("an address that nobody has", func(t *testing.T) {
		r := diagnoseIn(t, nil, worker.enter(), "--endpoint", "http://10.99.0.77:4317", "--timeout", "5s")
		requireFinding(t, r, "no-answer", 13)
	})
	t.Run("an address without a route", func(t *testing.T) {
		r := diagnoseIn(t, nil, worker.enter(), "--endpoint", "http://192.0.2.1:4317", "--timeout", "5s")
		requireFinding(t, r, "no-answer", 13, "no way")
	})
	t.Run("the name of the worker itself", func(t *testing.T) {
		if _, err := net.LookupHost("localhost"); err != nil {
			t.Fatal(err)
		}
		requireFinding(t, diagnoseIn(t, nil, worker.enter(), "--endpoint", "http://localhost:4317"), "loopback", 11)
		requireFinding(t, diagnoseIn(t, nil, worker.enter(), "--endpoint", "http://0.0.0.0:4317"), "loopback", 11)
	})
}
