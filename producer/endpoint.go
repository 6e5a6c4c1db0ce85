package producer

import (
	"cmp"
	"net"
	"net/url"
	"path"
	"strconv"
	"strings"
)

const tracesPath = "/v1/traces"

// endpoint is where spans are sent.
type endpoint struct {
	url      url.URL // with gRPC without a path
	protocol Protocol
}

// rawEndpoint is what a setting says.
type rawEndpoint struct {
	value    string
	setting  string   // its name
	asIs     bool     // the path is whole, as that of OTEL_EXPORTER_OTLP_TRACES_ENDPOINT
	protocol Protocol // what Config says; may be empty
	hint     Protocol // what the environment says; may be empty
}

// guess finds the protocol that no setting names. The variable of the environment is about the
// endpoint of the environment: where Config has one, what the endpoint says itself comes first.
func (raw rawEndpoint) guess(u *url.URL) Protocol {
	var says Protocol
	switch {
	case u.Path != "" || u.Port() == "4318":
		says = ProtocolHTTP
	case u.Port() == "4317":
		says = ProtocolGRPC
	}
	if strings.HasPrefix(raw.setting, "OTEL_") {
		return cmp.Or(raw.hint, says, ProtocolGRPC)
	}
	return cmp.Or(says, raw.hint, ProtocolGRPC)
}

// parseEndpoint checks what a setting says. The second result is a warning, or empty.
func parseEndpoint(raw rawEndpoint) (endpoint, string, error) {
	u, err := url.Parse(strings.TrimSpace(raw.value))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return endpoint{}, "", settingError(raw.setting, "%q is no URL of a collector: write http://HOST:4317 or https://HOST:4317", raw.value)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return endpoint{}, "", settingError(raw.setting, "has a user, a query or a fragment, which are not sent: put a token into Headers")
	}
	if port := u.Port(); port != "" {
		if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
			return endpoint{}, "", settingError(raw.setting, "%q: %s is no port: take 1 to 65535", raw.value, port)
		}
	}
	u.Path = strings.TrimRight(u.Path, "/")
	e := endpoint{url: *u, protocol: raw.protocol}
	if e.protocol == "" {
		e.protocol = raw.guess(u)
	}
	if e.protocol == ProtocolHTTP {
		if !raw.asIs && !strings.HasSuffix(e.url.Path, tracesPath) {
			e.url.Path = path.Join("/", e.url.Path, tracesPath)
		}
		if e.url.Path == "" {
			e.url.Path = "/"
		}
		return e, "", nil
	}
	warning := ""
	if u.Path != "" {
		if raw.protocol != "" {
			return endpoint{}, "", &SettingError{
				Settings: []string{raw.setting, "Protocol"},
				Problem:  "a path goes with HTTP only, and Protocol is grpc: remove the path " + u.Path + " or take http/protobuf",
			}
		}
		warning = raw.setting + " has the path " + u.Path + ", which gRPC does not use"
		e.url.Path = ""
	}
	if u.Port() == "" && u.Scheme == "http" {
		return endpoint{}, "", settingError(raw.setting, "%q names no port: collectors take gRPC on 4317", raw.value)
	}
	return e, warning, nil
}

// traces is the URL as OTEL_EXPORTER_OTLP_TRACES_ENDPOINT has it.
func (e endpoint) traces() string { return e.url.String() }

// base is the URL as OTEL_EXPORTER_OTLP_ENDPOINT has it: SDKs put the path of the signal behind it.
func (e endpoint) base() string {
	u := e.url
	u.Path = strings.TrimSuffix(u.Path, tracesPath)
	return strings.TrimSuffix(u.String(), "/")
}

// secure reports whether TLS is spoken.
func (e endpoint) secure() bool { return e.url.Scheme == "https" }

// loopback reports whether the endpoint is on the host, or in the pod, of whoever uses it. Names are
// not looked up.
func (e endpoint) loopback() bool {
	host := strings.ToLower(strings.TrimSuffix(e.url.Hostname(), "."))
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}

// parseProtocol accepts the names of the environment's variables, and "http".
func parseProtocol(text string) (Protocol, bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "":
		return "", true
	case "grpc":
		return ProtocolGRPC, true
	case "http", "http/protobuf":
		return ProtocolHTTP, true
	}
	return "", false
}
