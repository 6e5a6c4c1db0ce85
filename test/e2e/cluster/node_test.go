//go:build linux

package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/runspan/runspan/test/e2e/harness"
)

// node is a host of pods: a network of its own, to which each pod has one cable, and the names that a
// cluster's DNS would know.
type node struct {
	root    string // the image's root file system
	dir     string
	network string // the namespace of the switch

	mu    sync.Mutex
	pods  int
	names map[string]string // host name -> address
}

var nodes atomic.Int64

// newNode makes a network, which nothing outside of the test can see or reach.
func newNode(t *testing.T) *node {
	t.Helper()
	if os.Geteuid() != 0 {
		harness.Missing(t, "the right to make namespaces", "run the tests as root, for example in a container with all capabilities")
	}
	n := &node{root: imageRoot(t), dir: harness.WorldTempDir(t), names: map[string]string{}}
	n.network = fmt.Sprintf("runspan-%d-%d", os.Getpid(), nodes.Add(1))
	ip(t, "netns", "add", n.network)
	t.Cleanup(func() { ip(t, "netns", "del", n.network) })
	ip(t, "-n", n.network, "link", "add", "switch", "type", "bridge")
	ip(t, "-n", n.network, "link", "set", "switch", "up")
	return n
}

// netns is the network of a pod: a loopback of its own and one address.
type netns struct {
	name    string
	address string
	cable   string // the other end of its eth0, at the switch
	node    *node
}

// plug makes the network of a new pod.
func (n *node) plug(t *testing.T) *netns {
	t.Helper()
	n.mu.Lock()
	n.pods++
	number := n.pods
	n.mu.Unlock()
	p := &netns{
		name:    fmt.Sprintf("%s-%d", n.network, number),
		address: fmt.Sprintf("10.244.0.%d", number),
		cable:   fmt.Sprintf("pod%d", number),
		node:    n,
	}
	ip(t, "netns", "add", p.name)
	t.Cleanup(func() { ip(t, "netns", "del", p.name) })
	ip(t, "-n", n.network, "link", "add", p.cable, "type", "veth", "peer", "name", "eth0", "netns", p.name)
	ip(t, "-n", n.network, "link", "set", p.cable, "master", "switch", "up")
	ip(t, "-n", p.name, "link", "set", "lo", "up")
	ip(t, "-n", p.name, "address", "add", p.address+"/16", "dev", "eth0")
	ip(t, "-n", p.name, "link", "set", "eth0", "up")
	ip(t, "-n", p.name, "route", "add", "10.96.0.0/16", "dev", "eth0")
	return p
}

// serve gives the pod the address of a Service, under its name: what a cluster's DNS and proxy do for a
// Service with one pod. The pod that had it before must be gone.
func (p *netns) serve(t *testing.T, host, address string) {
	t.Helper()
	ip(t, "-n", p.name, "address", "replace", address+"/32", "dev", "eth0")
	p.node.name(host, address)
	p.node.mu.Lock()
	pods := p.node.pods
	p.node.mu.Unlock()
	// The others know the address by the cable of the pod that had it before. One that is only just being
	// made knows nothing yet.
	for i := range pods {
		_ = exec.Command("ip", "-n", fmt.Sprintf("%s-%d", p.node.network, i+1), "neigh", "flush", "all").Run()
	}
}

// name makes a name known to all pods.
func (n *node) name(host, address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names[host] = address
}

// unplug takes the pod off the network for good, and its addresses with it.
func (p *netns) unplug(t *testing.T) {
	t.Helper()
	ip(t, "-n", p.name, "link", "del", "eth0")
}

// cut takes the pod's cable out; mend plugs it in again.
func (p *netns) cut(t *testing.T) {
	t.Helper()
	ip(t, "-n", p.node.network, "link", "set", p.cable, "down")
}

func (p *netns) mend(t *testing.T) {
	t.Helper()
	ip(t, "-n", p.node.network, "link", "set", p.cable, "up")
}

// dial connects from within the pod's network, to an address or to a name that the node knows.
func (p *netns) dial(ctx context.Context, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	p.node.mu.Lock()
	if known, ok := p.node.names[host]; ok {
		host = known
	}
	p.node.mu.Unlock()
	// A socket belongs to the network of the thread that makes it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return nil, err
	}
	defer home.Close()
	there, err := os.Open(filepath.Join("/run/netns", p.name))
	if err != nil {
		return nil, err
	}
	defer there.Close()
	if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back != nil {
		panic(back) // the thread must not go on in another network
	}
	return conn, err
}

// hosts writes the file that the pods see as /etc/hosts.
func (n *node) hosts(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("127.0.0.1 localhost\n")
	n.mu.Lock()
	defer n.mu.Unlock()
	for name, address := range n.names {
		fmt.Fprintf(&b, "%s %s\n", address, name)
	}
	path := filepath.Join(n.dir, "hosts")
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o644))
	return path
}

// ip runs the command ip.
func ip(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.Command("ip", args...).CombinedOutput()
	require.NoErrorf(t, err, "ip %s: %s", strings.Join(args, " "), out)
}
