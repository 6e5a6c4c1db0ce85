package jaegerexporter

import (
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// answer says what becomes of a message.
type answer int

const (
	taken      answer = iota
	later             // the server may take it another time
	refused           // the server will never take this message; it may take others
	turnedAway        // the server will never take anything from this sender as it is configured
)

// read says what the server's answer to a message means.
func read(err error) answer {
	switch s := status.Convert(err); s.Code() {
	case codes.OK:
		return taken
	case codes.InvalidArgument:
		return refused
	case codes.Unimplemented, codes.PermissionDenied, codes.Unauthenticated:
		return turnedAway
	case codes.ResourceExhausted:
		// Without such words it is a server whose queue is full: Jaeger says "server busy".
		if strings.Contains(s.Message(), "larger than max") || strings.Contains(s.Message(), "exceeds maximum size") {
			return refused
		}
	case codes.Unknown:
		// A collector's jaeger receiver, and a Jaeger is one, passes the errors of its pipeline on
		// without a code: a full memory and a down storage too, so the text has to tell.
		if strings.HasPrefix(strings.TrimPrefix(s.Message(), "not retryable error: "), "Permanent error: ") {
			return refused
		}
	}
	return later
}

// explain adds to an answer that needs a change of the config what to write there.
func (c *Config) explain(err error) error {
	s := status.Convert(err)
	switch {
	case s.Code() == codes.Unimplemented && strings.Contains(s.Message(), "Decompressor is not installed"):
		return fmt.Errorf("%w: the server at %s does not know compression: %s: write none or gzip",
			err, c.ClientConfig.Endpoint, c.ClientConfig.Compression)
	case s.Code() == codes.Unimplemented:
		insecure := ""
		if c.ClientConfig.TLS.Insecure {
			insecure = ", tls: {insecure: true}"
		}
		return fmt.Errorf("%w: %s does not take Jaeger's protocol (port 14250) and looks like an OTLP port (4317): "+
			"write the exporter otlp_grpc: {endpoint: %q%s} in place of jaeger", err, c.ClientConfig.Endpoint, c.ClientConfig.Endpoint, insecure)
	case s.Code() == codes.ResourceExhausted:
		return fmt.Errorf("%w: the server takes less than max_message_bytes: %d: write its limit there", err, c.MaxMessageBytes)
	}
	return err
}
