package doctor

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/runspan/runspan/internal/tracefile"
)

// The protocols of an endpoint.
const (
	GRPC = "grpc"
	HTTP = "http"
)

// DefaultTimeout bounds the way to the endpoint, and then the wait at the places behind it.
const DefaultTimeout = 10 * time.Second

// Settings say where the test span goes and where to look for it.
type Settings struct {
	// Endpoint is what a program has in OTEL_EXPORTER_OTLP_ENDPOINT: http or https, a host, a port, and
	// for OTLP/HTTP a path to which /v1/traces is added.
	Endpoint string
	// Exact makes the path of Endpoint the whole one, as in OTEL_EXPORTER_OTLP_TRACES_ENDPOINT.
	Exact bool
	// Protocol is GRPC or HTTP. Default: HTTP for port 4318 and for an endpoint with a path, else GRPC.
	Protocol string
	// Headers go with the span, for example authorization.
	Headers map[string]string
	// CA is a file of certificates to trust instead of the system's. Cert and Key are those of the client.
	CA, Cert, Key string

	// TraceFile is the file that the collector writes; it may hold {run.id} and {service.name}. Empty:
	// not looked at.
	TraceFile string
	// Viewer is the address of a viewer. Empty: not asked.
	Viewer        string
	ViewerHeaders map[string]string
	// Jaeger is the address of a Jaeger's query API. Empty: not asked.
	Jaeger        string
	JaegerHeaders map[string]string

	// Timeout bounds the way to the endpoint, and once more the wait at all places behind it together.
	Timeout time.Duration
}

// FromEnv fills in what is not set from the variables that an OpenTelemetry SDK reads.
func (s *Settings) FromEnv(getenv func(string) string) error {
	first := func(set *string, names ...string) {
		for _, name := range names {
			if *set == "" {
				*set = getenv("OTEL_EXPORTER_OTLP_" + name)
			}
		}
	}
	if s.Endpoint == "" {
		s.Endpoint = getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
		s.Exact = s.Endpoint != ""
	}
	first(&s.Endpoint, "ENDPOINT")
	first(&s.CA, "TRACES_CERTIFICATE", "CERTIFICATE")
	first(&s.Cert, "TRACES_CLIENT_CERTIFICATE", "CLIENT_CERTIFICATE")
	first(&s.Key, "TRACES_CLIENT_KEY", "CLIENT_KEY")
	if s.Protocol == "" {
		var protocol string
		first(&protocol, "TRACES_PROTOCOL", "PROTOCOL")
		switch protocol {
		case "http/protobuf", "http/json":
			s.Protocol = HTTP
		default:
			s.Protocol = protocol
		}
	}
	var headers string
	first(&headers, "TRACES_HEADERS", "HEADERS")
	for pair := range strings.SplitSeq(headers, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		key = strings.ToLower(strings.TrimSpace(key))
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || key == "" || err != nil {
			// Not the pair itself: it may be a token.
			return errors.New("OTEL_EXPORTER_OTLP_HEADERS is not understood: write KEY=VALUE,KEY=VALUE with %20 for a blank")
		}
		if s.Headers == nil {
			s.Headers = map[string]string{}
		}
		if _, set := s.Headers[key]; !set {
			s.Headers[key] = value
		}
	}
	return nil
}

// target is where the span goes.
type target struct {
	endpoint string // as it was given
	host     string
	port     string
	way      way
	config   *tls.Config
}

// way is one way to hand OTLP to an address.
type way struct {
	protocol string
	tls      bool
	path     string // of OTLP/HTTP
}

func (t *target) address() string { return net.JoinHostPort(t.host, t.port) }

// url returns the URL of a path at the address, or where a way of OTLP/HTTP posts.
func (t *target) url(w way) string {
	scheme := "http"
	if w.tls {
		scheme = "https"
	}
	return scheme + "://" + t.address() + w.path
}

const tracesPath = "/v1/traces"

// target takes the settings of the endpoint apart. The error names the setting.
func (s *Settings) target() (*target, error) {
	if s.Endpoint == "" {
		return nil, errors.New("--endpoint is missing, and OTEL_EXPORTER_OTLP_ENDPOINT is not set: write for example --endpoint http://127.0.0.1:4317")
	}
	u, err := parseURL("--endpoint", s.Endpoint)
	if err != nil {
		return nil, err
	}
	t := &target{endpoint: s.Endpoint, host: u.Hostname(), port: u.Port(), way: way{protocol: s.Protocol, tls: u.Scheme == "https"}}
	path := strings.TrimRight(u.Path, "/")
	switch {
	case t.way.protocol == GRPC, t.way.protocol == HTTP:
	case t.way.protocol != "":
		return nil, fmt.Errorf("--protocol %q is unknown: write grpc or http", s.Protocol)
	case t.port == "4318" || path != "":
		t.way.protocol = HTTP
	default:
		t.way.protocol = GRPC
	}
	if t.port == "" {
		t.port = "80"
		if t.way.tls {
			t.port = "443"
		}
	}
	t.way.path = path
	if !s.Exact {
		t.way.path += tracesPath
	}
	t.config, err = s.tls(t.host)
	return t, err
}

func (s *Settings) tls(host string) (*tls.Config, error) {
	config := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if s.CA != "" {
		pem, err := os.ReadFile(s.CA)
		if err != nil {
			return nil, fmt.Errorf("--ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--ca %s holds no certificate in PEM", s.CA)
		}
	}
	if s.Cert != "" || s.Key != "" {
		pair, err := tls.LoadX509KeyPair(s.Cert, s.Key)
		if err != nil {
			return nil, fmt.Errorf("--cert %q and --key %q: %w", s.Cert, s.Key, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// check checks everything but the endpoint, and takes the slash off the ends of addresses.
func (s *Settings) check() error {
	if s.Timeout <= 0 {
		return fmt.Errorf("--timeout %s is no time to wait: write for example 10s", s.Timeout)
	}
	for flag, address := range map[string]*string{"--viewer": &s.Viewer, "--jaeger": &s.Jaeger} {
		if *address == "" {
			continue
		}
		if _, err := parseURL(flag, *address); err != nil {
			return err
		}
		*address = strings.TrimRight(*address, "/")
	}
	if s.TraceFile != "" {
		if _, err := tracefile.ParsePathTemplate(s.TraceFile); err != nil {
			return fmt.Errorf("--trace-jsonl %w", err)
		}
	}
	return nil
}

// parseURL parses the address of a flag.
func parseURL(flag, text string) (*url.URL, error) {
	if !strings.Contains(text, "://") {
		return nil, fmt.Errorf("%s %q has no scheme: write http://%s, or https://%s where it speaks TLS", flag, text, text, text)
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s %q is no address: %w", flag, text, errors.Unwrap(err))
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("the scheme of %s %q is %q: write http or https", flag, text, u.Scheme)
	}
	if u.Hostname() == "" {
		return nil, fmt.Errorf("%s %q names no host: write for example http://127.0.0.1:4317", flag, text)
	}
	if port := u.Port(); port != "" {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return nil, fmt.Errorf("%s %q: the port %s is none: write a number up to 65535", flag, text, port)
		}
	}
	if u.User != nil {
		return nil, fmt.Errorf("%s holds a password: give it with a header instead", flag)
	}
	return u, nil
}
