package jaegerexporter

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"

	"github.com/runspan/runspan/components/jaegerexporter/internal/metadata"
)

func loadConfig(t *testing.T, name string) *Config {
	t.Helper()
	cm, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	sub, err := cm.Sub(component.NewIDWithName(metadata.Type, name).String())
	require.NoError(t, err)
	c := createDefaultConfig().(*Config)
	require.NoError(t, sub.Unmarshal(c))
	require.NoError(t, confmap.Validate(c))
	return c
}

// The defaults of contrib's jaegerexporter v0.85.0.
func TestConfig_Defaults(t *testing.T) {
	c := loadConfig(t, "shortest")
	assert.Equal(t, "jaeger-collector:14250", c.ClientConfig.Endpoint)
	assert.Empty(t, c.ClientConfig.Compression)
	assert.False(t, c.ClientConfig.TLS.Insecure)
	assert.False(t, c.ClientConfig.Keepalive.HasValue())
	assert.Zero(t, c.ClientConfig.ReadBufferSize)
	assert.Equal(t, 512*1024, c.ClientConfig.WriteBufferSize)
	assert.False(t, c.ClientConfig.WaitForReady)
	assert.Equal(t, "pick_first", c.ClientConfig.BalancerName, "what gRPC did where nothing was named")
	assert.False(t, c.ClientConfig.Auth.HasValue())
	assert.Equal(t, 5*time.Second, c.TimeoutConfig.Timeout)

	require.True(t, c.QueueConfig.HasValue())
	queue := c.QueueConfig.Get()
	assert.Equal(t, 10, queue.NumConsumers)
	assert.Equal(t, int64(1000), queue.QueueSize)
	assert.Equal(t, "requests", queue.Sizer.String())
	assert.False(t, queue.BlockOnOverflow)
	assert.False(t, queue.Batch.HasValue())
	assert.Nil(t, queue.StorageID)

	assert.True(t, c.RetryConfig.Enabled)
	assert.Equal(t, 5*time.Second, c.RetryConfig.InitialInterval)
	assert.InDelta(t, 0.5, c.RetryConfig.RandomizationFactor, 0)
	assert.InDelta(t, 1.5, c.RetryConfig.Multiplier, 0)
	assert.Equal(t, 30*time.Second, c.RetryConfig.MaxInterval)
	assert.Equal(t, 5*time.Minute, c.RetryConfig.MaxElapsedTime)

	assert.Equal(t, 4*1024*1024, c.MaxMessageBytes)
}

func TestConfig_EachKey(t *testing.T) {
	c := loadConfig(t, "all")
	client := c.ClientConfig
	tls := client.TLS
	keepalive := client.Keepalive.Get()
	require.NotNil(t, keepalive)
	require.True(t, c.QueueConfig.HasValue())
	queue := c.QueueConfig.Get()
	header, _ := client.Headers.Get("x-tenant")
	require.True(t, client.Auth.HasValue())
	require.NotNil(t, queue.StorageID)
	pem := loadConfig(t, "pem").ClientConfig.TLS
	for key, got := range map[string]struct{ want, got any }{
		"endpoint":                               {"jaeger-collector:14250", client.Endpoint},
		"compression":                            {"gzip", string(client.Compression)},
		"tls::ca_file":                           {"/etc/ca.pem", tls.CAFile},
		"tls::ca_pem":                            {"the CA", string(pem.CAPem)},
		"tls::cert_file":                         {"/etc/cert.pem", tls.CertFile},
		"tls::cert_pem":                          {"the certificate", string(pem.CertPem)},
		"tls::key_file":                          {"/etc/key.pem", tls.KeyFile},
		"tls::key_pem":                           {"the key", string(pem.KeyPem)},
		"tls::min_version":                       {"1.2", tls.MinVersion},
		"tls::max_version":                       {"1.3", tls.MaxVersion},
		"tls::reload_interval":                   {time.Hour, tls.ReloadInterval},
		"tls::insecure":                          {true, tls.Insecure},
		"tls::insecure_skip_verify":              {true, tls.InsecureSkipVerify},
		"tls::server_name_override":              {"jaeger.example.com", tls.ServerName},
		"keepalive::time":                        {20 * time.Second, keepalive.Time},
		"keepalive::timeout":                     {30 * time.Second, keepalive.Timeout},
		"keepalive::permit_without_stream":       {true, keepalive.PermitWithoutStream},
		"read_buffer_size":                       {1024, client.ReadBufferSize},
		"write_buffer_size":                      {2048, client.WriteBufferSize},
		"wait_for_ready":                         {true, client.WaitForReady},
		"headers":                                {"training", string(header)},
		"balancer_name":                          {"round_robin", client.BalancerName},
		"authority":                              {"jaeger.example.com", client.Authority},
		"auth::authenticator":                    {"bearertokenauth", client.Auth.Get().AuthenticatorID.String()},
		"timeout":                                {10 * time.Second, c.TimeoutConfig.Timeout},
		"sending_queue::num_consumers":           {2, queue.NumConsumers},
		"sending_queue::queue_size":              {int64(10), queue.QueueSize},
		"sending_queue::storage":                 {"file_storage/queue", queue.StorageID.String()},
		"retry_on_failure::enabled":              {true, c.RetryConfig.Enabled},
		"retry_on_failure::initial_interval":     {time.Second, c.RetryConfig.InitialInterval},
		"retry_on_failure::randomization_factor": {0.7, c.RetryConfig.RandomizationFactor},
		"retry_on_failure::multiplier":           {3.0, c.RetryConfig.Multiplier},
		"retry_on_failure::max_interval":         {10 * time.Second, c.RetryConfig.MaxInterval},
		"retry_on_failure::max_elapsed_time":     {10 * time.Minute, c.RetryConfig.MaxElapsedTime},
		"max_message_bytes":                      {1 << 20, c.MaxMessageBytes},
	} {
		assert.Equal(t, got.want, got.got, key)
	}
	off := loadConfig(t, "off")
	assert.False(t, off.QueueConfig.HasValue(), "sending_queue::enabled")
	assert.False(t, off.RetryConfig.Enabled, "retry_on_failure::enabled")
}

func TestConfig_Errors(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(c *Config)
		want   string
	}{
		"no endpoint":   {func(c *Config) { c.ClientConfig.Endpoint = "" }, "endpoint: is empty"},
		"no port":       {func(c *Config) { c.ClientConfig.Endpoint = "jaeger" }, "missing port"},
		"balancer":      {func(c *Config) { c.ClientConfig.BalancerName = "fastest" }, "balancer_name: fastest"},
		"timeout":       {func(c *Config) { c.TimeoutConfig.Timeout = -time.Second }, "timeout"},
		"queue":         {func(c *Config) { c.QueueConfig.Get().QueueSize = 0 }, "queue_size"},
		"retry":         {func(c *Config) { c.RetryConfig.InitialInterval = -1 }, "initial_interval"},
		"message bytes": {func(c *Config) { c.MaxMessageBytes = 4095 }, "max_message_bytes: 4095 is too small: write at least 4096"},
	} {
		t.Run(name, func(t *testing.T) {
			c := loadConfig(t, "shortest")
			tc.change(c)
			require.ErrorContains(t, confmap.Validate(c), tc.want)
		})
	}
	c := createDefaultConfig().(*Config)
	c.MaxMessageBytes = 0
	require.ErrorContains(t, c.Validate(), "endpoint:")
	require.ErrorContains(t, c.Validate(), "max_message_bytes:", "all at once")
}
