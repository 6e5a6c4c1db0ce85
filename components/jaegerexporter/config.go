package jaegerexporter

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configgrpc"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
)

const (
	// defaultMessageBytes is what gRPC servers take unless they are told otherwise, Jaeger's too.
	defaultMessageBytes = 4 << 20

	// minMessageBytes leaves room for a process and a small span; a smaller limit would refuse all
	// of them.
	minMessageBytes = 4 << 10
)

// Config of the jaeger exporter. Only endpoint is required. Its keys, but for max_message_bytes, and
// their defaults are those of contrib's jaegerexporter up to v0.85.0.
type Config struct {
	// TimeoutConfig holds timeout: how long one attempt to send a batch may take, all of its
	// messages together. Default: 5s. Zero sets no limit.
	TimeoutConfig exporterhelper.TimeoutConfig `mapstructure:",squash"`

	// QueueConfig is the queue between the pipeline and the connection. Default: 1000 batches in
	// memory, sent by 10 at a time.
	QueueConfig configoptional.Optional[exporterhelper.QueueBatchConfig] `mapstructure:"sending_queue"`

	// RetryConfig says how what a server did not take is sent again. Default: after 5 s at first,
	// 30 s at most, for 5 minutes.
	RetryConfig configretry.BackOffConfig `mapstructure:"retry_on_failure"`

	// ClientConfig is the connection: endpoint, tls, headers and more. Default: TLS, no
	// compression, no keepalive pings, a write buffer of 512 KiB, the first address that answers.
	ClientConfig configgrpc.ClientConfig `mapstructure:",squash"`

	// MaxMessageBytes is the largest message, in bytes before compression. Longer batches are split
	// between spans. Default: 4194304 (4 MiB), the limit of a gRPC server. At least 4096.
	MaxMessageBytes int `mapstructure:"max_message_bytes"`

	_ struct{} // prevent unkeyed literal initialization
}

var _ component.Config = (*Config)(nil)

func createDefaultConfig() component.Config {
	client := configgrpc.NewDefaultClientConfig()
	client.WriteBufferSize = 512 << 10
	// The defaults of the time of v0.85.0: a config that did not name these keys keeps its behaviour.
	client.Keepalive = configoptional.None[configgrpc.KeepaliveClientConfig]()
	client.BalancerName = "pick_first"
	return &Config{
		TimeoutConfig:   exporterhelper.NewDefaultTimeoutConfig(),
		QueueConfig:     configoptional.Some(exporterhelper.NewDefaultQueueConfig()),
		RetryConfig:     configretry.NewDefaultBackOffConfig(),
		ClientConfig:    client,
		MaxMessageBytes: defaultMessageBytes,
	}
}

// Validate reports every setting that cannot work, by its name. What it does not name is checked by
// the shared settings themselves.
func (c *Config) Validate() error {
	var errs []error
	if c.ClientConfig.Endpoint == "" {
		errs = append(errs, errors.New("endpoint: is empty: name the host and port, for example jaeger-collector:14250"))
	}
	if c.MaxMessageBytes < minMessageBytes {
		errs = append(errs, fmt.Errorf("max_message_bytes: %d is too small: write at least %d", c.MaxMessageBytes, minMessageBytes))
	}
	return errors.Join(errs...)
}
