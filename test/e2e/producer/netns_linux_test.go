package producer

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/runspan/runspan/producer"
	"github.com/runspan/runspan/test/e2e/harness"
)

// Two hosts, or pods, on one network: network namespaces with a cable between them.
type network struct {
	driver, worker   string // names of the namespaces
	driverAddress    string
	lonely           string // a namespace with loopback only
	outsideOfDrivers string // the gateway of its default route
}

// makeNetwork makes the namespaces; it skips the test where this user may not.
func makeNetwork(t *testing.T) network {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil {
		harness.Missing(t, "ip", "install iproute2")
	}
	id := os.Getpid() % 100000
	n := network{
		driver: fmt.Sprintf("rs-driver-%d", id), worker: fmt.Sprintf("rs-worker-%d", id), lonely: fmt.Sprintf("rs-lonely-%d", id),
		driverAddress: "10.231.77.1", outsideOfDrivers: "10.231.77.2",
	}
	for _, name := range []string{n.driver, n.worker, n.lonely} {
		if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
			harness.Missing(t, fmt.Sprintf("the right to make network namespaces (%v: %s)", err, out), "run the tests as root")
		}
		t.Cleanup(func() { assert.NoError(t, exec.Command("ip", "netns", "del", name).Run()) })
	}
	ip := func(args ...string) {
		t.Helper()
		out, err := exec.Command("ip", args...).CombinedOutput()
		require.NoError(t, err, "ip %v: %s", args, out)
	}
	cable, plug := fmt.Sprintf("rsd%d", id), fmt.Sprintf("rsw%d", id)
	ip("link", "add", cable, "netns", n.driver, "type", "veth", "peer", "name", plug, "netns", n.worker)
	for name, address := range map[string]string{n.driver: n.driverAddress, n.worker: n.outsideOfDrivers} {
		link := map[string]string{n.driver: cable, n.worker: plug}[name]
		ip("-n", name, "addr", "add", address+"/24", "dev", link)
		ip("-n", name, "link", "set", link, "up")
	}
	for _, name := range []string{n.driver, n.worker, n.lonely} {
		ip("-n", name, "link", "set", "lo", "up")
	}
	ip("-n", n.driver, "route", "add", "default", "via", n.outsideOfDrivers)
	return n
}

// in makes a command run in a namespace.
func in(name string, cmd *exec.Cmd) *exec.Cmd {
	inside := exec.Command("ip", append([]string{"netns", "exec", name, cmd.Path}, cmd.Args[1:]...)...)
	inside.Env, inside.Dir = cmd.Env, cmd.Dir
	return inside
}

// A worker in another namespace fails with the loopback endpoint, as pods do, and works with the address
// that local mode hands out.
func TestWorkerOnAnotherHost(t *testing.T) {
	n := makeNetwork(t)
	cfg := localConfig(t)
	cfg.Local.Host = "" // chosen by the route to the outside
	driver, r := startWorker(t, in(n.driver, roleCommand(t, "worker", cfg)))
	require.Equal(t, producer.ModeLocal, r.Mode, r.Error)
	assert.Empty(t, r.Warnings)
	handed, err := url.Parse(r.Endpoint)
	require.NoError(t, err)
	require.Equal(t, n.driverAddress, handed.Hostname())

	cmd := roleCommand(t, "worker", producer.Config{Enabled: true, RunID: r.RunID, Endpoint: "http://127.0.0.1:" + handed.Port()})
	cmd.Env = append(cmd.Env, "KUBERNETES_SERVICE_HOST=10.96.0.1")
	there, told := startWorker(t, in(n.worker, cmd))
	require.Len(t, told.Warnings, 1)
	assert.Contains(t, told.Warnings[0], "on the loopback address, and this process is in a container")
	there.work(t, "lost")
	there.end(t)
	assert.Empty(t, harness.ReadTraceFile(t, r.File))

	there, _ = startWorker(t, in(n.worker, roleCommand(t, "worker", producer.Config{Enabled: true, RunID: r.RunID, Endpoint: r.Endpoint})))
	there.work(t, "found")
	there.end(t)
	driver.work(t, "at home")
	driver.end(t)
	count := map[string]int{}
	for _, s := range harness.ReadTraceFile(t, r.File) {
		count[s.Name]++
	}
	assert.Equal(t, map[string]int{"found": 100, "at home": 100}, count)
}

// The same by `runspan exec`, with a command that starts its worker on the other host.
func TestExecReachesAnotherHost(t *testing.T) {
	n := makeNetwork(t)
	cmd := execCommand(t, "--service-name", "agent", "--", "ip", "netns", "exec", n.worker, os.Args[0])
	cmd.Env = append(cmd.Env, roleVariable+"=agent")
	cmd = in(n.driver, cmd)
	cmd.Stdin = strings.NewReader(`{"Work": "from far away"}` + "\n")
	code, _, log := runExec(t, cmd)
	require.Equal(t, 0, code, log)
	run, endpoint, file := introduced(t, log)
	assert.True(t, strings.HasPrefix(endpoint, "http://"+n.driverAddress+":"), endpoint)
	spans := harness.ReadTraceFile(t, file)
	require.Len(t, spans, 1)
	assert.Equal(t, []string{run, "from far away"}, []string{spans[0].Run, spans[0].Name})
}

// A host on which nothing but loopback is found is told so; the program's own spans are taken.
func TestOnlyLoopbackIsSaid(t *testing.T) {
	n := makeNetwork(t)
	cmd := in(n.lonely, execCommand(t, "--", os.Args[0]))
	cmd.Env = append(cmd.Env, roleVariable+"=agent")
	cmd.Stdin = strings.NewReader(`{"Work": "alone"}` + "\n")
	code, _, log := runExec(t, cmd)
	require.Equal(t, 0, code, log)
	assert.Contains(t, log, "runspan: warning: only the loopback address 127.0.0.1 was found for this host")
	assert.Contains(t, log, "set --host to an address that they can reach")
	_, endpoint, file := introduced(t, log)
	assert.True(t, strings.HasPrefix(endpoint, "http://127.0.0.1:"), endpoint)
	assert.Len(t, harness.ReadTraceFile(t, file), 1)
}
