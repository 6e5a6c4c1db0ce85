package runidprocessor

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processorhelper"

	"github.com/runspan/runspan/runidprocessor/internal/metadata"
)

type runIDProcessor struct {
	cfg             *Config
	judge           judge
	aliases         *aliases // on spans and resources
	resourceAliases *aliases // on resources only
	tagger          tagger
	memory          *traceMemory // nil: no inheritance
	telemetry       *telemetry
	requests        sync.Pool            // of *request
	clock           func() time.Duration // since some fixed moment; never goes back
}

func newRunIDProcessor(cfg *Config, tb *metadata.TelemetryBuilder) (*runIDProcessor, error) {
	started := time.Now()
	p := &runIDProcessor{
		cfg:             cfg,
		judge:           judge{fallbackID: cfg.Fallback.ID},
		aliases:         noAliases,
		resourceAliases: noAliases,
		tagger: tagger{
			spans:       cfg.Tags.Spans,
			resources:   cfg.Tags.Resources,
			source:      cfg.Tags.Source,
			copyToSpans: cfg.Tags.CopyToSpans,
		},
		clock: func() time.Duration { return time.Since(started) },
	}
	if cfg.Sources.Aliases.Enabled {
		p.aliases = newAliases(cfg.Sources.Aliases.Keys)
		p.resourceAliases = newAliases(cfg.Sources.Aliases.ResourceKeys)
	}
	if cfg.Sources.Trace.Enabled {
		p.memory = newTraceMemory(cfg.Sources.Trace.MaxTraces, cfg.Sources.Trace.MaxAge)
	}
	p.requests.New = func() any { return newRequest(p) }
	var err error
	p.telemetry, err = newTelemetry(tb, p)
	return p, err
}

// processTraces gives every span of td its run, and every resource the spans of one run. It returns
// processorhelper.ErrSkipProcessingData when no span is left to pass on, so that no empty request
// reaches the next component.
func (p *runIDProcessor) processTraces(ctx context.Context, td ptrace.Traces) (ptrace.Traces, error) {
	q := p.requests.Get().(*request)
	defer q.release()
	q.begin(ctx)
	q.readAll(td)
	err := q.decideRest(td)
	if err == nil {
		q.arrangeAll(td.ResourceSpans())
	}
	p.telemetry.count(ctx, q)
	if err != nil {
		return td, err
	}
	if td.ResourceSpans().Len() == 0 {
		return td, processorhelper.ErrSkipProcessingData
	}
	return td, nil
}
