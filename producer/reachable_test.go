package producer

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReachable(t *testing.T) {
	addresses := func(texts ...string) (list []netip.Addr) {
		for _, text := range texts {
			list = append(list, netip.MustParseAddr(text))
		}
		return list
	}
	for _, tc := range []struct {
		name     string
		set      string
		routes   []netip.Addr
		own      []netip.Addr
		hostname string
		names    map[string][]netip.Addr
		want     reachable
		warns    string
	}{
		{
			name: "the route to the outside", routes: addresses("10.1.2.3"), hostname: "pod", names: map[string][]netip.Addr{"pod": addresses("10.9.9.9")},
			want: reachable{host: "10.1.2.3", listen: "10.1.2.3"},
		},
		{name: "IPv6 only", routes: addresses("fd00::2"), want: reachable{host: "fd00::2", listen: "fd00::2"}},
		{
			name: "no route, the host's own name", own: addresses("10.1.2.3"), hostname: "node", names: map[string][]netip.Addr{"node": addresses("127.0.1.1", "10.1.2.3")},
			want: reachable{host: "10.1.2.3", listen: "10.1.2.3"},
		},
		{
			name: "the name leads to another host", own: addresses("10.1.2.3"), hostname: "node", names: map[string][]netip.Addr{"node": addresses("10.1.2.9")},
			want: reachable{host: "127.0.0.1"}, warns: "only the loopback address",
		},
		{
			name: "127.0.1.1 by the host's own name", own: addresses("127.0.0.1"), hostname: "debian", names: map[string][]netip.Addr{"debian": addresses("127.0.1.1")},
			want: reachable{host: "127.0.0.1"}, warns: "its own name debian leads to loopback",
		},
		{name: "nothing", want: reachable{host: "127.0.0.1"}, warns: "set Local.Host"},
		{name: "a link-local route", routes: addresses("169.254.3.4"), want: reachable{host: "127.0.0.1"}, warns: "only the loopback address"},
		{name: "set to an address of this host", set: "10.1.2.3", routes: addresses("10.9.9.9"), own: addresses("10.1.2.3"), want: reachable{host: "10.1.2.3", listen: "10.1.2.3"}},
		{name: "set to one that is translated", set: "203.0.113.5", own: addresses("10.1.2.3"), want: reachable{host: "203.0.113.5", all: true}},
		{name: "set to all addresses", set: "0.0.0.0", routes: addresses("10.1.2.3"), want: reachable{host: "10.1.2.3", all: true}},
		{name: "set to all addresses of IPv6", set: "::", routes: addresses("10.1.2.3"), want: reachable{host: "10.1.2.3", all: true}},
		{name: "set to all addresses, no route", set: "0.0.0.0", want: reachable{host: "127.0.0.1", all: true}, warns: "only the loopback address"},
		{name: "set to loopback", set: "127.0.0.1", routes: addresses("10.1.2.3"), want: reachable{host: "127.0.0.1"}},
		{name: "set to a name", set: "driver", names: map[string][]netip.Addr{"driver": addresses("10.1.2.3")}, want: reachable{host: "driver", all: true}},
		{name: "set to a name that is known elsewhere only", set: "driver", want: reachable{host: "driver", all: true}, warns: "Local.Host driver leads to no address"},
		{
			name: "set to a name for 127.0.1.1", set: "debian", names: map[string][]netip.Addr{"debian": addresses("127.0.1.1")},
			want: reachable{host: "debian", listen: "127.0.1.1"}, warns: "leads to the loopback address 127.0.1.1",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := network{
				routes: func() []netip.Addr { return tc.routes },
				own:    func() []netip.Addr { return tc.own },
				hostname: func() (string, error) {
					if tc.hostname == "" {
						return "", errors.New("none")
					}
					return tc.hostname, nil
				},
				lookup: func(_ context.Context, host string) []netip.Addr { return tc.names[host] },
			}.find(t.Context(), tc.set)
			if tc.warns == "" {
				assert.Empty(t, got.warning)
			} else {
				assert.Contains(t, got.warning, tc.warns)
			}
			got.warning = ""
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestCheckHost(t *testing.T) {
	for _, host := range []string{"", "10.1.2.3", "fd00::2", "driver", "driver.", "my_driver-0.ns.svc", "1password", "0.0.0.0"} {
		require.NoError(t, checkHost(host), host)
	}
	for _, host := range []string{
		"1.2.3.4:55", "http://1.2.3.4", "a/b", "driver:4317", "[fd00::2]", "1.2.3", "1.2.3.400", "a..b", ".", " ", "-a", "a b", "dr\u00efver", strings.Repeat("a.", 130),
	} {
		_, err := resolve(Config{Enabled: true, LocalCollector: true, Local: Local{Host: host}}, variables(nil))
		requireSettings(t, err, "Local.Host")
		assert.ErrorContains(t, err, "write an address or a name, without scheme and port")
	}
}

// The addresses of this host, whatever they are, are asked for without an error and within the time.
func TestReachableOnThisHost(t *testing.T) {
	got := hostNetwork().find(t.Context(), "")
	assert.NotEmpty(t, got.host)
	assert.Equal(t, got.host == "127.0.0.1", got.warning != "")
	assert.Equal(t, reachable{host: "127.0.0.1"}, hostNetwork().find(t.Context(), "127.0.0.1"))
	assert.NotEmpty(t, hostNetwork().find(t.Context(), "localhost").warning)
}
