package runidprocessor

import (
	"fmt"

	"go.opentelemetry.io/collector/component"

	"github.com/runspan/runspan/internal/runid"
)

// Config of the run_id processor. Every key is optional.
type Config struct {
	// FallbackID is the run id of spans that name no run. Default: "unassigned".
	FallbackID string `mapstructure:"fallback_id"`

	_ struct{} // prevent unkeyed literal initialization
}

var _ component.Config = (*Config)(nil)

// Validate reports a fallback id that is no valid run id.
func (c *Config) Validate() error {
	if err := runid.Check(c.FallbackID); err != nil {
		return fmt.Errorf("fallback_id: %q %w: write a run id of 1 to %d bytes, or leave the key out for %q",
			c.FallbackID, err, runid.MaxBytes, runid.Unassigned)
	}
	return nil
}

func createDefaultConfig() component.Config {
	return &Config{FallbackID: runid.Unassigned}
}
