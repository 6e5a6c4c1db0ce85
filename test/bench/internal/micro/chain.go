// Package micro compares processors alone, in one process and without a collector around them: what a
// whole collector costs drowns a change of a cheap processor in noise.
package micro

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/groupbyattrsprocessor"
	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/transformprocessor"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/runspan/runspan/runidprocessor"
)

// stock are the processors of the stock equivalent.
var stock = []processor.Factory{transformprocessor.NewFactory(), groupbyattrsprocessor.NewFactory()}

func newRunID(ctx context.Context, configs string) (*chain, error) {
	return newChain(ctx, configs, "run_id.yaml", []processor.Factory{runidprocessor.NewFactory()})
}

func newStock(ctx context.Context, configs string) (*chain, error) {
	return newChain(ctx, configs, "stock_equivalent.yaml", stock)
}

// chain is some processors, the last of which throws away what it gets.
type chain struct {
	consumer.Traces
	processors []processor.Traces
}

// newChain starts the processors with the settings that the config of a contender gives them, so
// that they are the same here as in the whole collector.
func newChain(ctx context.Context, configs, file string, factories []processor.Factory) (*chain, error) {
	settings, err := processorSettings(filepath.Join(configs, file))
	if err != nil {
		return nil, err
	}
	c := &chain{Traces: consumertest.NewNop()}
	for _, factory := range slices.Backward(factories) {
		name := factory.Type().String()
		if !settings.IsSet(name) {
			return nil, fmt.Errorf("%s has no processor %s", file, name)
		}
		sub, err := settings.Sub(name)
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", name, file, err)
		}
		cfg := factory.CreateDefaultConfig()
		if err := sub.Unmarshal(cfg); err != nil {
			return nil, fmt.Errorf("%s of %s: %w", name, file, err)
		}
		p, err := factory.CreateTraces(ctx, processortest.NewNopSettings(factory.Type()), cfg, c.Traces)
		if err != nil {
			return nil, fmt.Errorf("create %s: %w", name, err)
		}
		if err := p.Start(ctx, componenttest.NewNopHost()); err != nil {
			return nil, errors.Join(fmt.Errorf("start %s: %w", name, err), c.stop(ctx))
		}
		c.Traces, c.processors = p, append(c.processors, p)
	}
	return c, nil
}

func (c *chain) stop(ctx context.Context) error {
	var err error
	for _, p := range c.processors {
		err = errors.Join(err, p.Shutdown(ctx))
	}
	return err
}

func processorSettings(path string) (*confmap.Conf, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	retrieved, err := confmap.NewRetrievedFromYAML(text)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", path, err)
	}
	conf, err := retrieved.AsConf()
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", path, err)
	}
	return conf.Sub("processors")
}
