// Package addrprovider contains the `addr` configuration provider, which cuts a `host:port` address
// from the environment into its two halves.
//
// Every address of configs/local.yaml can be overridden by one environment variable. All of the
// collector's servers take `host:port`, but its own metrics endpoint takes `host` and `port` as two
// keys, which the `env` provider cannot serve from one variable:
//
//	prometheus:
//	  host: ${addr:host:RUNSPAN_METRICS:-127.0.0.1:8888}
//	  port: ${addr:port:RUNSPAN_METRICS:-127.0.0.1:8888}
package addrprovider

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/confmap"
)

const scheme = "addr"

type provider struct{}

// NewFactory returns the factory of the `addr` provider. It serves `${addr:host:NAME}` and
// `${addr:port:NAME}`, each with an optional `:-DEFAULT` as in `${env:NAME:-DEFAULT}`. An unset
// variable without a default and a value that is not `host:port` are errors.
func NewFactory() confmap.ProviderFactory {
	return confmap.NewProviderFactory(func(confmap.ProviderSettings) confmap.Provider {
		return provider{}
	})
}

// Scheme returns "addr".
func (provider) Scheme() string { return scheme }

// Shutdown does nothing: the provider holds nothing.
func (provider) Shutdown(context.Context) error { return nil }

// Retrieve returns the host as a string or the port as a number.
func (provider) Retrieve(_ context.Context, uri string, _ confmap.WatcherFunc) (*confmap.Retrieved, error) {
	selector, ok := strings.CutPrefix(uri, scheme+":")
	if !ok {
		return nil, fmt.Errorf("%q is not for the %q provider", uri, scheme)
	}
	part, rest, _ := strings.Cut(selector, ":")
	if part != "host" && part != "port" {
		return nil, fmt.Errorf("${%s}: write ${addr:host:NAME} or ${addr:port:NAME}", uri)
	}
	name, address, hasDefault := strings.Cut(rest, ":-")
	if value, set := os.LookupEnv(name); set {
		address = value
	} else if !hasDefault {
		return nil, fmt.Errorf("${%s}: the environment variable %s is not set; set it to host:port", uri, name)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%s=%q is not host:port, such as 127.0.0.1:8888: %w", name, address, err)
	}
	if part == "host" {
		return confmap.NewRetrieved(host)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("%s=%q: the port is no number from 0 to 65535", name, address)
	}
	return confmap.NewRetrieved(int(number))
}
