package viewer

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// setSecurityHeaders sets what every answer has: nothing but our own scripts and styles runs in the
// page, and no other page may embed or read it.
func setSecurityHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "+
		"font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "+
		"require-trusted-types-for 'script'; trusted-types 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
}

// hostList is the names by which the page may be asked for. A page of another site can make a browser
// send requests here, also under a name of its own that leads to this address; what it cannot do is to
// send another Host and Origin.
type hostList struct {
	endpoint   string          // the host that the server listens on
	names      map[string]bool // "host" or "host:port", in lower case
	below      []string        // ".example.com"
	all        bool
	anyAddress bool
}

// CheckHosts returns an error for an entry of Options.AllowedHosts that is none.
func CheckHosts(allowed []string) error {
	_, err := parseHosts(allowed, "")
	return err
}

// parseHosts returns the list for a server that listens on an endpoint. Where that is all addresses,
// every IP address is allowed: no name of another site leads to one.
func parseHosts(allowed []string, endpoint string) (hostList, error) {
	l := hostList{names: map[string]bool{}}
	if ip := net.ParseIP(endpoint); ip != nil && ip.IsUnspecified() {
		l.anyAddress = true
	} else {
		l.endpoint = hostName(endpoint)
	}
	for _, entry := range allowed {
		name := strings.ToLower(entry)
		below, isBelow := strings.CutPrefix(name, "*.")
		switch {
		case name == "*":
			l.all = true
		case strings.ContainsAny(name, "/@ \t") || name == "" || strings.Contains(below, "*"):
			return l, fmt.Errorf("%q is no host: write a name, name:port, *.example.com, or *", entry)
		case isBelow:
			l.below = append(l.below, "."+below)
		default:
			l.names[strings.TrimSuffix(bareHost(name), ".")] = true
		}
	}
	return l, nil
}

// check returns an error where the Host or the Origin of a request is not allowed.
func (l *hostList) check(r *http.Request) error {
	if !l.allows(r.Host) {
		return &apiError{
			http.StatusForbidden, "host",
			fmt.Sprintf("the host %.100q is not allowed: add it to allowed_hosts", r.Host),
		}
	}
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		// The page itself, or one of another name of the same server that is in the list.
		if err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) && !l.listed(u.Host) {
			return &apiError{
				http.StatusForbidden, "origin",
				fmt.Sprintf("the origin %.100q is not allowed: add its host to allowed_hosts", origin),
			}
		}
	}
	// A browser sends no Origin with what an element of a page loads.
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		return &apiError{http.StatusForbidden, "origin", "a page of another site asked for it"}
	}
	return nil
}

func (l *hostList) allows(host string) bool {
	if l.all || l.listed(host) {
		return true
	}
	name := hostName(host)
	if name == "localhost" || name != "" && name == l.endpoint {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && (l.anyAddress || addr.Unmap().IsLoopback())
}

func (l *hostList) listed(host string) bool {
	name := hostName(host)
	if l.names[name] || l.names[strings.ToLower(host)] {
		return true
	}
	for _, below := range l.below {
		if strings.HasSuffix(name, below) {
			return true
		}
	}
	return false
}

// hostName returns the name of a Host header: without port and brackets, in lower case.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(strings.ToLower(bareHost(host)), ".")
}

// bareHost takes the brackets off an IPv6 address.
func bareHost(host string) string {
	if inner, ok := strings.CutPrefix(host, "["); ok && strings.HasSuffix(inner, "]") {
		return strings.TrimSuffix(inner, "]")
	}
	return host
}

// CheckJaegerURL returns an error where an address is no http or https URL: the page makes links of it.
func CheckJaegerURL(address string) error {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%q is no address of a Jaeger page: write for example http://127.0.0.1:16686", address)
	}
	return nil
}
