package harness

import (
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
)

// Ports of the tests lie below those that the kernel gives to outgoing connections (from 32768 on
// Linux, from 49152 on macOS). A port that the kernel chose, by listening on port 0, is taken again
// by some client's connection before a child can listen on it: seen once in a few hundred starts.
const (
	firstPort = 20000
	portCount = 12000
)

// nextPort counts the ports handed out by this process. It starts at another place in each, so that
// packages tested at the same time do not meet.
var nextPort atomic.Int64

func init() { nextPort.Store(int64(os.Getpid()) * 97) }

// FreePorts returns n loopback addresses on which nobody listens, none of them twice.
func FreePorts(t *testing.T, n int) []string {
	t.Helper()
	addresses := make([]string, 0, n)
	for tries := 0; len(addresses) < n; tries++ {
		if tries == portCount {
			t.Fatalf("found %d of %d free ports", len(addresses), n)
		}
		port := firstPort + int(nextPort.Add(1)%portCount)
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		l, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		addresses = append(addresses, address)
	}
	return addresses
}
