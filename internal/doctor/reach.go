package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// resolve finds the addresses of the endpoint's host.
func (v *visit) resolve(ctx context.Context) Place {
	ctx, cancel := v.inTime(ctx)
	defer cancel()
	host := v.target.host
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		what := fmt.Sprintf("%s has no address: %s", host, lookupError(err))
		return wrong("name", nameNotFound, what, "endpoint", v.target.endpoint)
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return seen("name", OK, host+" is an address")
	}
	names := make([]string, len(addresses))
	for i, a := range addresses {
		names[i] = a.Unmap().String()
	}
	return seen("name", OK, host+" is "+strings.Join(names, ", "))
}

// lookupError returns what a name server said, without the name again.
func lookupError(err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsTimeout {
			return "the name server does not answer"
		}
		return dns.Err
	}
	return err.Error()
}

// connect opens a TCP connection to the endpoint.
func (v *visit) connect(ctx context.Context) Place {
	ctx, cancel := v.inTime(ctx)
	defer cancel()
	t := v.target
	began := time.Now()
	conn, err := dial(ctx, t.address())
	if err != nil {
		return v.notConnected(err)
	}
	defer func() { _ = conn.Close() }() // nothing was sent
	what := fmt.Sprintf("%s answers after %s", t.address(), short(time.Since(began)))
	if remote, ok := conn.RemoteAddr().(*net.TCPAddr); ok && remote.IP.IsLoopback() && v.pod != "" {
		what += fmt.Sprintf(" in this %s (%s); other %ss do not reach it at this address", v.pod, remote.IP, v.pod)
	}
	return seen("connect", OK, what)
}

func dial(ctx context.Context, address string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

// notConnected tells why there is no connection.
func (v *visit) notConnected(err error) Place {
	t := v.target
	values := []string{"endpoint", t.endpoint, "port", t.port, "timeout", v.Timeout.String()}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED) && ownAddress(err):
		in := "this machine"
		if v.pod != "" {
			in = "this " + v.pod
		}
		return wrong("connect", loopback, fmt.Sprintf("nothing listens on %s in %s, whose own address that is", t.address(), in), values...)
	case errors.Is(err, syscall.ECONNREFUSED):
		return wrong("connect", refused, "nothing listens on "+t.address(), values...)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return wrong("connect", noAnswer, fmt.Sprintf("there is no way to %s: %s", t.address(), reason(err)), values...)
	case timedOut(err):
		return wrong("connect", noAnswer, fmt.Sprintf("%s does not answer within %s", t.address(), v.Timeout), values...)
	}
	return wrong("connect", noAnswer, fmt.Sprintf("%s cannot be connected to: %s", t.address(), reason(err)), values...)
}

// ownAddress reports whether a connection was tried to an address that means the host itself: a
// loopback one, or 0.0.0.0, which is one to listen on.
func ownAddress(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok {
		return false
	}
	to, ok := op.Addr.(*net.TCPAddr)
	return ok && (to.IP.IsLoopback() || to.IP.IsUnspecified())
}

// timedOut reports whether an error is one of time.
func timedOut(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// reason returns the innermost error, which says most in the fewest words.
func reason(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// handshake begins TLS with the endpoint.
func (v *visit) handshake(ctx context.Context) Place {
	inTime, cancel := v.inTime(ctx)
	defer cancel()
	state, err := v.shakeHands(inTime, v.target.config)
	if err != nil {
		return v.noTLS(ctx, err)
	}
	cert := state.PeerCertificates[0]
	return seen("tls", OK, fmt.Sprintf("%s, the certificate is of %s and valid until %s",
		tls.VersionName(state.Version), strings.Join(namesOf(cert), ", "), cert.NotAfter.UTC().Format("2006-01-02 15:04 UTC")))
}

// errClientCertificate says that a server asked for a certificate of the client and ended the connection.
var errClientCertificate = errors.New("it asks for a certificate of the client and closes the connection")

// shakeHands begins TLS and ends it.
func (v *visit) shakeHands(ctx context.Context, config *tls.Config) (tls.ConnectionState, error) {
	conn, err := dial(ctx, v.target.address())
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer func() { _ = conn.Close() }() // nothing was sent
	config = config.Clone()
	config.NextProtos = []string{"h2", "http/1.1"}
	asked := false
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		asked = true
		if len(config.Certificates) > 0 {
			return &config.Certificates[0], nil
		}
		return &tls.Certificate{}, nil
	}
	client := tls.Client(conn, config)
	if err := client.HandshakeContext(ctx); err != nil {
		return tls.ConnectionState{}, err
	}
	if !asked {
		return client.ConnectionState(), nil
	}
	// In TLS 1.3 what the server says to the client's certificate comes behind the handshake. A server that
	// is content says something (HTTP/2) or nothing.
	_ = client.SetReadDeadline(time.Now().Add(probeTime / 2)) // a connection without one fails below
	_, err = client.Read(make([]byte, 1))
	switch {
	case err == nil, timedOut(err), wantsCertificate(err):
	default:
		err = errClientCertificate
	}
	if timedOut(err) {
		err = nil
	}
	return client.ConnectionState(), err
}

// speaksTLS reports whether the server can begin TLS with anybody.
func (v *visit) speaksTLS(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTime/2)
	defer cancel()
	_, err := v.shakeHands(ctx, &tls.Config{InsecureSkipVerify: true, ServerName: v.target.host}) //nolint:gosec // nothing is sent
	return err == nil || wantsCertificate(err)
}

// noTLS tells why TLS did not begin.
func (v *visit) noTLS(ctx context.Context, err error) Place {
	t := v.target
	if p, ok := v.badCertificate("tls", err); ok {
		return p
	}
	if w, ok := v.probe(ctx, way{t.way.protocol, false, t.way.path}, way{other(t.way.protocol), false, tracesPath}); ok {
		return wrong("tls", plainText, fmt.Sprintf("%s speaks no TLS; it takes %s in plain text", t.address(), spoken(w.protocol)),
			"endpoint", t.endpoint, "instead", "http"+strings.TrimPrefix(t.endpoint, "https"))
	}
	if timedOut(err) {
		return v.silent("tls")
	}
	return wrong("tls", notOTLP, fmt.Sprintf("%s begins no TLS (%s), and takes no OTLP in plain text either", t.address(), reason(err)), "endpoint", t.endpoint)
}

// silent is a server that takes a connection and says nothing.
func (v *visit) silent(place string) Place {
	t := v.target
	return wrong(place, noAnswer, fmt.Sprintf("%s takes the connection and does not answer within %s", t.address(), v.Timeout),
		"endpoint", t.endpoint, "port", t.port, "timeout", v.Timeout.String())
}

// badCertificate tells what is wrong with a certificate, of the server or of the client.
func (v *visit) badCertificate(place string, err error) (Place, bool) {
	t := v.target
	if hostname, ok := errors.AsType[x509.HostnameError](err); ok {
		names := strings.Join(namesOf(hostname.Certificate), ", ")
		return wrong(place, certificateName, fmt.Sprintf("the certificate of %s is of %s, not of %s", t.address(), names, t.host),
			"endpoint", t.endpoint, "names", names, "host", t.host), true
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return wrong(place, certificateTime, fmt.Sprintf("the certificate of %s is valid from %s to %s; by the clock here it is %s", t.address(),
			invalid.Cert.NotBefore.UTC().Format(time.DateTime), invalid.Cert.NotAfter.UTC().Format(time.DateTime), time.Now().UTC().Format(time.DateTime)),
			"endpoint", t.endpoint), true
	}
	if wantsCertificate(err) {
		cert := v.Cert
		if cert == "" {
			cert = "FILE"
		}
		return wrong(place, clientCertificate, fmt.Sprintf("%s wants another certificate of the client: %s", t.address(), reason(err)), "cert", cert), true
	}
	if verification, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		ca := v.CA
		if ca == "" {
			ca = "FILE"
		}
		return wrong(place, certificateAuthority, fmt.Sprintf("the certificate of %s is not trusted here: %s", t.address(), reason(verification.Err)), "ca", ca), true
	}
	return Place{}, false
}

// wantsCertificate reports whether a server asked for another certificate of the client. Its alert has no
// type that could be asked for.
func wantsCertificate(err error) bool {
	if errors.Is(err, errClientCertificate) {
		return true
	}
	for _, alert := range []string{"certificate required", "bad certificate", "unknown certificate authority", "unknown certificate", "expired certificate"} {
		if err != nil && strings.Contains(err.Error(), "remote error: tls: "+alert) {
			return true
		}
	}
	return false
}

// namesOf returns what a certificate is good for.
func namesOf(cert *x509.Certificate) []string {
	names := append([]string{}, cert.DNSNames...)
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		names = append(names, cert.Subject.String())
	}
	return names
}
