package doctor

import (
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A firewall that drops what it does not let through costs a bounded time too.
func TestDroppedConnections(t *testing.T) {
	r := diagnose(t, "--endpoint", "http://"+fullBacklog(t), "--timeout", "1s")
	requireFinding(t, r, "no-answer", 13, "firewall")
	assert.Less(t, r.took, 7*time.Second, "at most twice --timeout and five seconds")
}

// fullBacklog returns an address whose kernel drops what asks for a connection, as a firewall does: it
// listens with a backlog of none, and that is taken.
func fullBacklog(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(fd) })
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, syscall.Listen(fd, 0))
	bound, err := syscall.Getsockname(fd)
	require.NoError(t, err)
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(bound.(*syscall.SockaddrInet4).Port))
	for range 8 {
		conn, err := net.DialTimeout("tcp", address, 300*time.Millisecond)
		if err != nil {
			return address
		}
		t.Cleanup(func() { conn.Close() })
	}
	t.Fatal("the kernel takes any number of connections")
	return ""
}
