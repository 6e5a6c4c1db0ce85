package producer

import (
	"context"
	"net"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// lookupWithin bounds the look-up of a name: a resolver that hangs must not hold up the program.
const lookupWithin = time.Second

// reachable says by which address children reach this host.
type reachable struct {
	host    string // address or name
	listen  string // the address to listen on beside loopback; "" for loopback only
	all     bool   // listen on all addresses
	warning string
}

// network is what finding an address asks the host.
type network struct {
	routes   func() []netip.Addr                                 // source addresses of the routes to the outside
	own      func() []netip.Addr                                 // of this host's interfaces
	hostname func() (string, error)                              // its own name
	lookup   func(ctx context.Context, host string) []netip.Addr // of a name
}

func hostNetwork() network {
	return network{routes: outsideRoutes, own: ownAddresses, hostname: os.Hostname, lookup: lookup}
}

// find chooses the address. A host that was set is taken as it is.
func (n network) find(ctx context.Context, set string) reachable {
	ctx, cancel := context.WithTimeout(ctx, lookupWithin)
	defer cancel()
	if set != "" {
		return n.chosen(ctx, set)
	}
	for _, address := range n.routes() {
		if usable(address) {
			return reachable{host: address.String(), listen: address.String()}
		}
	}
	name, err := n.hostname()
	if err == nil && name != "" {
		for _, address := range n.lookup(ctx, name) {
			if usable(address) && slices.Contains(n.own(), address) {
				return reachable{host: address.String(), listen: address.String()}
			}
		}
	}
	return reachable{host: "127.0.0.1", warning: "only the loopback address 127.0.0.1 was found for this host" +
		" (no route leads outside, and its own name " + name + " leads to loopback or nowhere):" +
		" processes on other hosts or in other pods cannot send their spans here; set Local.Host to an address that they can reach"}
}

// checkHost refuses what can be no host of a URL. The last part of a name is no number, by which
// addresses with a part missing or too large are told.
func checkHost(host string) error {
	if _, err := netip.ParseAddr(host); host == "" || err == nil {
		return nil
	}
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	valid := len(host) <= 253 && !digits.MatchString(labels[len(labels)-1])
	for _, part := range labels {
		valid = valid && label.MatchString(part)
	}
	if !valid {
		return settingError("Local.Host", "%.300q is no host: write an address or a name, without scheme and port", host)
	}
	return nil
}

var (
	label  = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$`)
	digits = regexp.MustCompile(`^[0-9]+$`)
)

// chosen takes what was set. An address of this host is listened on; anything else, a name or an
// address that is translated on the way, may arrive on any of this host's addresses.
func (n network) chosen(ctx context.Context, set string) reachable {
	if address, err := netip.ParseAddr(set); err == nil {
		if address.IsLoopback() {
			return reachable{host: set, listen: besideLoopback(address)}
		}
		if address.IsUnspecified() { // to listen on, not to send to
			at := n.find(ctx, "")
			at.listen, at.all = "", true
			return at
		}
		if slices.Contains(n.own(), address.Unmap()) {
			return reachable{host: set, listen: set}
		}
		return reachable{host: set, all: true}
	}
	found := n.lookup(ctx, set)
	if len(found) == 0 {
		return reachable{host: set, all: true, warning: "Local.Host " + set + " leads to no address on this host:" +
			" processes that do not know the name either cannot send their spans here"}
	}
	if !slices.ContainsFunc(found, func(a netip.Addr) bool { return !a.IsLoopback() }) {
		return reachable{host: set, listen: besideLoopback(found[0]), warning: "Local.Host " + set + " leads to the loopback address " + found[0].String() +
			" on this host: processes on other hosts or in other pods may not reach it; set an address that they can reach"}
	}
	return reachable{host: set, all: true}
}

// besideLoopback is what to listen on for a loopback address beside 127.0.0.1, which is always.
func besideLoopback(address netip.Addr) string {
	if address == netip.AddrFrom4([4]byte{127, 0, 0, 1}) {
		return ""
	}
	return address.String()
}

func usable(address netip.Addr) bool {
	return address.IsGlobalUnicast() // neither loopback, link-local nor unspecified
}

// outsideRoutes asks the kernel which source address it would use. Connecting a UDP socket sends
// nothing; the addresses are those of documentation, which no host has (RFC 5737, RFC 3849).
func outsideRoutes() []netip.Addr {
	var found []netip.Addr
	for _, outside := range []string{"198.51.100.1:9", "[2001:db8::1]:9"} {
		conn, err := net.Dial("udp", outside)
		if err != nil {
			continue
		}
		if local, err := netip.ParseAddrPort(conn.LocalAddr().String()); err == nil {
			found = append(found, local.Addr().Unmap())
		}
		_ = conn.Close()
	}
	return found
}

func ownAddresses() []netip.Addr {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var found []netip.Addr
	for _, a := range all {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			found = append(found, prefix.Addr().Unmap())
		}
	}
	return found
}

func lookup(ctx context.Context, host string) []netip.Addr {
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil
	}
	for i := range found {
		found[i] = found[i].Unmap()
	}
	return found
}
