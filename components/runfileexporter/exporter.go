package runfileexporter

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/runspan/runspan/internal/tracefile"
)

// reasonLineTooLong stands in the metric of failures for spans over max_line_bytes.
const reasonLineTooLong = "line_too_long"

type runFileExporter struct {
	cfg      *Config
	template *tracefile.PathTemplate
	tell     *telemetry
	requests *requestPool
	files    *tracefile.Files // nil before start

	name       string
	unregister func()
}

func newRunFileExporter(set exporter.Settings, cfg *Config) (*runFileExporter, error) {
	template, err := tracefile.ParsePathTemplate(cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("path: %w", err)
	}
	tell, err := newTelemetry(set.TelemetrySettings, cfg.Path)
	if err != nil {
		return nil, err
	}
	return &runFileExporter{
		name:     set.ID.String(),
		cfg:      cfg,
		template: template,
		tell:     tell,
		requests: newRequestPool(cfg.MaxLineBytes),
	}, nil
}

func (e *runFileExporter) start(ctx context.Context, host component.Host) error {
	e.tell.host = host
	files, err := tracefile.OpenFiles(ctx, tracefile.FilesOptions{
		Template: e.template,
		MaxOpen:  e.cfg.MaxOpenFiles,
		Options: tracefile.Options{
			Durability:      tracefile.Durability(e.cfg.Durability),
			SyncInterval:    e.cfg.SyncInterval,
			WriteTimeout:    e.cfg.WriteTimeout,
			NoLock:          e.cfg.Lock == lockOff,
			LockTimeout:     e.cfg.LockTimeout,
			CreateDirectory: e.cfg.CreateDirectory,
			RetryLines:      e.cfg.RetryWindow.Lines,
			RetryAge:        e.cfg.RetryWindow.Age,
			Rotation:        tracefile.Rotation{MaxBytes: e.cfg.Rotation.MaxBytes, MaxAge: e.cfg.Rotation.MaxAge},
			Observer:        e.tell,
		},
		Retention: tracefile.Retention{
			MaxAge:   e.cfg.Retention.MaxAge,
			MaxBytes: e.cfg.Retention.MaxBytes,
			MinFree:  e.cfg.Retention.MinFree,
			RunIdle:  e.cfg.Retention.RunIdle,
			Places:   e.cfg.Retention.Places,
		},
	})
	if err != nil {
		return err
	}
	if err := e.tell.observe(files); err != nil {
		return errors.Join(err, files.Close(ctx))
	}
	e.files = files
	// A reader in this process that can only lead here is refused at its start.
	e.unregister = tracefile.RegisterWriter(e.name, e.cfg.Path)
	return nil
}

// shutdown is also called when start was not, or failed.
func (e *runFileExporter) shutdown(ctx context.Context) error {
	defer e.tell.close()
	if e.files == nil {
		return nil
	}
	e.unregister()
	return e.files.Close(ctx)
}

// consumeTraces returns nil when every span of td is in its file. The error of a span that is too long
// for a line is permanent; all others are worth a retry, and the retry is written once. Where some
// files could be written and others not, the error carries the spans of the others.
func (e *runFileExporter) consumeTraces(ctx context.Context, td ptrace.Traces) error {
	r := e.requests.get()
	r.split(td, e.template)
	r.encode(td)
	r.write(ctx, td, e.files)
	err := e.outcome(ctx, td, r)
	if !r.mayBeRead {
		e.requests.put(r)
	}
	return err
}

// outcome counts what became of a request, and returns the error that says so.
func (e *runFileExporter) outcome(ctx context.Context, td ptrace.Traces, r *request) error {
	var failed, tooLong error
	failures, written := 0, 0
	for i := range r.parts {
		p := &r.parts[i]
		if p.err != nil {
			failed = cmp.Or(failed, p.err)
			failures++
		} else if p.written > 0 {
			written += p.spans
		}
		tooLong = cmp.Or(tooLong, p.tooLong)
	}
	if written > 0 {
		e.tell.spans(ctx, written)
		if values := r.encoder.Flattened(); values > 0 {
			e.tell.flattened(ctx, values)
		}
	}
	switch {
	case errors.Is(failed, tracefile.ErrLoop):
		return consumererror.NewPermanent(failed)
	case failed != nil:
		e.tell.failed(ctx, tracefile.Reason(failed))
		if failures == len(r.parts) {
			return failed
		}
		// What fits into no line is not in the rest: the answer to the retry says so.
		return consumererror.NewTraces(fmt.Errorf("%d of %d files: %w", failures, len(r.parts), failed), r.rest(td))
	case tooLong != nil:
		e.tell.failed(ctx, reasonLineTooLong)
		return consumererror.NewPermanent(tooLong)
	}
	return nil
}
