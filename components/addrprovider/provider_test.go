package addrprovider

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
)

func TestScheme(t *testing.T) {
	p := NewFactory().Create(confmap.ProviderSettings{})
	require.NoError(t, confmaptest.ValidateProviderScheme(p))
	require.NoError(t, p.Shutdown(t.Context()))
}

func TestRetrieve(t *testing.T) {
	t.Setenv("RUNSPAN_TEST_ADDRESS", "10.0.0.1:9999")
	t.Setenv("RUNSPAN_TEST_IPV6", "[::1]:9999")
	t.Setenv("RUNSPAN_TEST_EVERYWHERE", ":9999")
	t.Setenv("RUNSPAN_TEST_BARE_PORT", "9999")
	t.Setenv("RUNSPAN_TEST_NAMED_PORT", "localhost:http")
	for _, tc := range []struct {
		uri     string
		want    any
		wantErr string
	}{
		{uri: "addr:host:RUNSPAN_TEST_ADDRESS", want: "10.0.0.1"},
		{uri: "addr:port:RUNSPAN_TEST_ADDRESS", want: 9999},
		{uri: "addr:host:RUNSPAN_TEST_ADDRESS:-127.0.0.1:1", want: "10.0.0.1"},
		{uri: "addr:host:RUNSPAN_TEST_IPV6", want: "::1"},
		{uri: "addr:host:RUNSPAN_TEST_EVERYWHERE", want: ""},
		{uri: "addr:host:RUNSPAN_TEST_UNSET:-127.0.0.1:8888", want: "127.0.0.1"},
		{uri: "addr:port:RUNSPAN_TEST_UNSET:-127.0.0.1:8888", want: 8888},
		{uri: "addr:port:RUNSPAN_TEST_UNSET", wantErr: "RUNSPAN_TEST_UNSET is not set; set it to host:port"},
		{uri: "addr:port:RUNSPAN_TEST_BARE_PORT", wantErr: `RUNSPAN_TEST_BARE_PORT="9999" is not host:port`},
		{uri: "addr:port:RUNSPAN_TEST_NAMED_PORT", wantErr: "the port is no number"},
		{uri: "addr:name:RUNSPAN_TEST_ADDRESS", wantErr: "write ${addr:host:NAME}"},
		{uri: "env:RUNSPAN_TEST_ADDRESS", wantErr: `not for the "addr" provider`},
	} {
		t.Run(tc.uri, func(t *testing.T) {
			got, err := provider{}.Retrieve(t.Context(), tc.uri, nil)
			if tc.wantErr != "" {
				require.ErrorContains(t, err, tc.wantErr)
				return
			}
			require.NoError(t, err)
			raw, err := got.AsRaw()
			require.NoError(t, err)
			require.Equal(t, tc.want, raw)
		})
	}
}

// The resolver splits what stands between the braces itself: the default holds a colon, and the
// port has to arrive as a number.
func TestRetrieve_InsideAConfiguration(t *testing.T) {
	resolver, err := confmap.NewResolver(confmap.ResolverSettings{
		URIs:              []string{"yaml:prometheus: {host: '${addr:host:RUNSPAN_TEST_NONE:-127.0.0.1:8888}', port: '${addr:port:RUNSPAN_TEST_NONE:-127.0.0.1:8888}'}"},
		ProviderFactories: []confmap.ProviderFactory{NewFactory(), yamlprovider.NewFactory()},
	})
	require.NoError(t, err)
	conf, err := resolver.Resolve(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]any{"prometheus": map[string]any{"host": "127.0.0.1", "port": 8888}}, conf.ToStringMap())
}
