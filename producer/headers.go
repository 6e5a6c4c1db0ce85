package producer

import (
	"maps"
	"slices"
	"strings"
)

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	// What a name may hold beside letters: RFC 9110 for HTTP, and fewer for gRPC's metadata.
	inNameHTTP = letters + "!#$%&'*+-.^_`|~"
	inNameGRPC = letters + "-_."
)

// headerProblem says why a header cannot be sent, "" where it can. A token that stands at the wrong
// place is not printed: of a name only what is before the first wrong character, of a value nothing.
func headerProblem(name, value string, protocol Protocol) string {
	allowed, by := inNameHTTP, "HTTP takes no blanks, no separators and ASCII only"
	if protocol == ProtocolGRPC {
		allowed, by = inNameGRPC, "gRPC takes letters, digits, -, _ and ."
	}
	wrong := strings.IndexFunc(name, func(r rune) bool { return !strings.ContainsRune(allowed, r) })
	switch {
	case name == "":
		return "a header has no name"
	case wrong >= 0:
		return "the name of the header that begins with " + quote(name[:wrong]) + " holds a character that is none of a name: " + by
	case protocol == ProtocolGRPC && strings.HasPrefix(strings.ToLower(name), "grpc-"):
		return "the header " + quote(name) + " is one of gRPC's own: take another name"
	case protocol == ProtocolGRPC && strings.HasSuffix(strings.ToLower(name), "-bin"):
		return "" // sent in base64
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }):
		return "the value of the header " + quote(name) + " holds a character that cannot be sent: write printable ASCII"
	}
	return ""
}

func quote(text string) string { return `"` + text + `"` }

// checkHeaders refuses those of Config that cannot be sent. Those of the environment are left out with a
// warning, also for children: SDKs end with an error, or lose every span.
func (s *settings) checkHeaders(fromEnv string) error {
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		problem := headerProblem(name, s.Headers[name], s.Protocol)
		switch {
		case problem == "":
		case fromEnv == "":
			return settingError("Headers", "%s", problem)
		default:
			s.warn("%s: %s; it is left out", fromEnv, problem)
			delete(s.Headers, name)
		}
	}
	return nil
}
