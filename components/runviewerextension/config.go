package runviewerextension

import (
	"errors"
	"fmt"
	"net"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/confignet"

	"github.com/runspan/runspan/internal/runindex"
	"github.com/runspan/runspan/internal/viewer"
)

const (
	defaultEndpoint = "127.0.0.1:18318"

	// minMemory is about 100,000 spans.
	minMemory = 8 << 20
)

// Config of the run_viewer extension. Only files is required.
type Config struct {
	// ServerConfig of the HTTP server, as all of the collector's have. Its auth holds for the API; the
	// page itself loads without a token and asks for one. Default endpoint: 127.0.0.1:18318.
	ServerConfig confighttp.ServerConfig `mapstructure:",squash"`

	// Files to show: paths or patterns; closed segments belong to their file. What is not there yet is
	// waited for. No default.
	Files []string `mapstructure:"files"`

	// Cache is the folder that keeps what is known of the files over a restart. Default: none; after a
	// restart the files are read again.
	Cache string `mapstructure:"cache"`

	// AllowedHosts are the names by which the page is reached, beside loopback names and the host of
	// endpoint: a name, name:port, *.example.com, or * for all. Default: none.
	AllowedHosts []string `mapstructure:"allowed_hosts"`

	// MaxMemory is what all opened runs may take, in bytes. Default: 268435456 (256 MiB), about three
	// million spans.
	MaxMemory int64 `mapstructure:"max_memory"`

	// MaxTraceSpans is how many spans of a trace are shown. Default: 200000.
	MaxTraceSpans int `mapstructure:"max_trace_spans"`

	// MaxConcurrent is how many requests are worked on at once. Default: 8.
	MaxConcurrent int `mapstructure:"max_concurrent"`

	// RequestTimeout is how long a request may be worked on. Default: 20s.
	RequestTimeout time.Duration `mapstructure:"request_timeout"`

	// JaegerURL is the address of a Jaeger's page that traces are linked to. Default: none.
	JaegerURL string `mapstructure:"jaeger_url"`

	_ struct{} // prevent unkeyed literal initialization
}

var _ component.Config = (*Config)(nil)

func createDefaultConfig() component.Config {
	server := confighttp.NewDefaultServerConfig()
	server.NetAddr.Endpoint = defaultEndpoint
	server.ReadHeaderTimeout = viewer.ReadHeaderTimeout
	server.ReadTimeout = viewer.ReadTimeout
	server.WriteTimeout = viewer.WriteTimeout
	server.MaxRequestBodySize = 4 << 10 // no request has one
	return &Config{
		ServerConfig:   server,
		MaxMemory:      runindex.DefaultMaxMemory,
		MaxTraceSpans:  runindex.DefaultMaxTraceSpans,
		MaxConcurrent:  viewer.DefaultMaxConcurrent,
		RequestTimeout: viewer.DefaultRequestTimeout,
	}
}

// Validate reports every setting that cannot work, by its name.
func (c *Config) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(c.Files) == 0 {
		fail("files: is empty: name the trace files to show")
	}
	for _, file := range c.Files {
		if file == "" {
			fail("files: an entry is empty")
		}
	}
	if c.ServerConfig.CORS.HasValue() {
		fail("cors: is not supported: no other site may read the traces; a proxy can put them under its own name, which allowed_hosts then lists")
	}
	if auth := c.ServerConfig.Auth.Get(); auth != nil && len(auth.RequestParameters) > 0 {
		fail("auth::request_params: is not supported: an address with a token in it ends in histories and logs")
	}
	if c.ServerConfig.NetAddr.Transport == confignet.TransportTypeTCP {
		if _, _, err := net.SplitHostPort(c.ServerConfig.NetAddr.Endpoint); err != nil {
			fail("endpoint: %q: write host:port: %w", c.ServerConfig.NetAddr.Endpoint, err)
		}
	}
	if err := viewer.CheckHosts(c.AllowedHosts); err != nil {
		fail("allowed_hosts: %w", err)
	}
	if c.MaxMemory < minMemory {
		fail("max_memory: %d is too small: write at least %d (bytes)", c.MaxMemory, minMemory)
	}
	if c.MaxTraceSpans < 1 {
		fail("max_trace_spans: %d is too small: write at least 1", c.MaxTraceSpans)
	}
	if c.MaxConcurrent < 1 {
		fail("max_concurrent: %d is too small: write at least 1", c.MaxConcurrent)
	}
	if c.RequestTimeout < time.Second {
		fail("request_timeout: %s is too short: write at least 1s (with its unit)", c.RequestTimeout)
	}
	if err := viewer.CheckJaegerURL(c.JaegerURL); err != nil {
		fail("jaeger_url: %w", err)
	}
	return errors.Join(errs...)
}
