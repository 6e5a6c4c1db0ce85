package runviewerextension

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configauth"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/extensiontest"
)

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

func newConfig(t *testing.T) *Config {
	t.Helper()
	cfg := createDefaultConfig().(*Config)
	cfg.ServerConfig.NetAddr.Endpoint = freeAddress(t)
	cfg.Files = []string{filepath.Join(t.TempDir(), "traces.jsonl")}
	return cfg
}

func newExtension(t *testing.T, cfg *Config) extension.Extension {
	t.Helper()
	e, err := NewFactory().Create(t.Context(), extensiontest.NewNopSettings(component.MustNewType("run_viewer")), cfg)
	require.NoError(t, err)
	return e
}

func get(t *testing.T, address, path string, headers ...string) (status int, header http.Header, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, http.NoBody)
	require.NoError(t, err)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, resp.Header, string(text)
}

func TestTakenAddress(t *testing.T) {
	cfg := newConfig(t)
	first := newExtension(t, cfg)
	require.NoError(t, first.Start(t.Context(), componenttest.NewNopHost()))
	second := newExtension(t, cfg)
	err := second.Start(t.Context(), componenttest.NewNopHost())
	require.ErrorContains(t, err, cfg.ServerConfig.NetAddr.Endpoint)
	require.ErrorContains(t, err, "endpoint sets the address")
	require.NoError(t, second.Shutdown(t.Context()))
	require.NoError(t, first.Shutdown(t.Context()))
}

// What fails after the address was taken gives it back.
func TestFailedStartGivesTheAddressBack(t *testing.T) {
	cfg := newConfig(t)
	cfg.Files = []string{"[", "bad pattern"}
	failed := newExtension(t, cfg)
	require.ErrorContains(t, failed.Start(t.Context(), componenttest.NewNopHost()), "files")
	require.NoError(t, failed.Shutdown(t.Context()))
	cfg.Files = []string{"traces.jsonl"}
	e := newExtension(t, cfg)
	require.NoError(t, e.Start(t.Context(), componenttest.NewNopHost()))
	require.NoError(t, e.Shutdown(t.Context()))
}

// tokens is an authentication extension that takes one header.
type tokens struct {
	component.StartFunc
	component.ShutdownFunc
}

func (tokens) Authenticate(ctx context.Context, sources map[string][]string) (context.Context, error) {
	if got := sources["Authorization"]; len(got) != 1 || got[0] != "Bearer secret" {
		return ctx, errors.New("no")
	}
	return ctx, nil
}

type hostWith map[component.ID]component.Component

func (h hostWith) GetExtensions() map[component.ID]component.Component { return h }

func TestAuthenticationOfTheCollector(t *testing.T) {
	id := component.MustNewID("tokens")
	cfg := newConfig(t)
	cfg.ServerConfig.Auth = configoptional.Some(confighttp.AuthConfig{Config: configauth.Config{AuthenticatorID: id}})
	e := newExtension(t, cfg)
	require.NoError(t, e.Start(t.Context(), hostWith{id: tokens{}}))
	defer func() { assert.NoError(t, e.Shutdown(context.Background())) }()
	address := cfg.ServerConfig.NetAddr.Endpoint
	for _, path := range []string{"/", "/run?run=x", "/api/health"} {
		status, _, _ := get(t, address, path)
		assert.Equal(t, http.StatusOK, status, path)
	}
	status, _, body := get(t, address, "/api/runs")
	assert.Equal(t, http.StatusUnauthorized, status)
	assert.Contains(t, body, `"reason":"no_token"`)
	status, _, _ = get(t, address, "/api/runs", "Authorization", "Bearer secret")
	assert.Equal(t, http.StatusOK, status)
}

func TestUnknownAuthenticator(t *testing.T) {
	cfg := newConfig(t)
	cfg.ServerConfig.Auth = configoptional.Some(confighttp.AuthConfig{Config: configauth.Config{AuthenticatorID: component.MustNewID("none")}})
	e := newExtension(t, cfg)
	require.ErrorContains(t, e.Start(t.Context(), hostWith{}), "auth")
	require.NoError(t, e.Shutdown(t.Context()))
}

// What the collector's own server refuses has the same headers and is JSON too.
func TestRefusedByTheServer(t *testing.T) {
	cfg := newConfig(t)
	e := newExtension(t, cfg)
	require.NoError(t, e.Start(t.Context(), componenttest.NewNopHost()))
	defer func() { assert.NoError(t, e.Shutdown(context.Background())) }()
	status, header, body := get(t, cfg.ServerConfig.NetAddr.Endpoint, "/api/runs", "Content-Encoding", "nonsense")
	assert.Equal(t, http.StatusBadRequest, status)
	assert.Contains(t, body, `"reason":"request"`)
	assert.NotEmpty(t, header.Get("Content-Security-Policy"))
}
