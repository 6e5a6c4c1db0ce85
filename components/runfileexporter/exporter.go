package runfileexporter

import (
	"context"
	"errors"
	"sync"

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
	tell     *telemetry
	encoders sync.Pool
	file     *tracefile.Appender // nil before start

	name       string
	unregister func()
}

func newRunFileExporter(set exporter.Settings, cfg *Config) (*runFileExporter, error) {
	tell, err := newTelemetry(set.TelemetrySettings, cfg.Path)
	if err != nil {
		return nil, err
	}
	return &runFileExporter{
		name:     set.ID.String(),
		cfg:      cfg,
		tell:     tell,
		encoders: sync.Pool{New: func() any { return &tracefile.Encoder{MaxLineBytes: cfg.MaxLineBytes} }},
	}, nil
}

func (e *runFileExporter) start(ctx context.Context, host component.Host) error {
	e.tell.host = host
	file, err := tracefile.Open(ctx, tracefile.Options{
		Path:            e.cfg.Path,
		Durability:      tracefile.Durability(e.cfg.Durability),
		SyncInterval:    e.cfg.SyncInterval,
		WriteTimeout:    e.cfg.WriteTimeout,
		NoLock:          e.cfg.Lock == lockOff,
		LockTimeout:     e.cfg.LockTimeout,
		CreateDirectory: e.cfg.CreateDirectory,
		RetryLines:      e.cfg.RetryWindow.Lines,
		RetryAge:        e.cfg.RetryWindow.Age,
		Observer:        e.tell,
	})
	if err != nil {
		return err
	}
	e.file = file
	// A reader in this process that can only lead here is refused at its start.
	e.unregister = tracefile.RegisterWriter(e.name, e.cfg.Path)
	return nil
}

// shutdown is also called when start was not, or failed.
func (e *runFileExporter) shutdown(ctx context.Context) error {
	defer e.tell.close()
	if e.file == nil {
		return nil
	}
	e.unregister()
	return e.file.Close(ctx)
}

// consumeTraces returns nil when every span of td is in the file. The error of a span that is too
// long for a line is permanent; all others are worth a retry, and the retry is written once.
func (e *runFileExporter) consumeTraces(ctx context.Context, td ptrace.Traces) error {
	if err := tracefile.CheckLoop(ctx, e.cfg.Path); err != nil {
		return consumererror.NewPermanent(err)
	}
	enc := e.encoders.Get().(*tracefile.Encoder)
	lines, tooLong := enc.Encode(td)
	spans := td.SpanCount()
	if long, ok := errors.AsType[*tracefile.LineTooLongError](tooLong); ok {
		spans -= long.Spans
	} else if tooLong != nil {
		return consumererror.NewPermanent(tooLong)
	}
	// What fits is written also where a span does not: no retry will bring it.
	if len(lines) > 0 {
		written, err := e.append(ctx, enc, td, lines)
		if err != nil {
			// Not back into the pool: a write that hangs may still be reading its buffer.
			e.tell.failed(ctx, tracefile.Reason(err))
			return err
		}
		if written > 0 {
			e.tell.spans(ctx, spans)
			if values := enc.Flattened(); values > 0 {
				e.tell.flattened(ctx, values)
			}
		}
	}
	e.encoders.Put(enc)
	if tooLong != nil {
		e.tell.failed(ctx, reasonLineTooLong)
		return consumererror.NewPermanent(tooLong)
	}
	return nil
}

// append writes the lines that td has become. Where a reader in this process follows the file it can
// have td itself.
func (e *runFileExporter) append(ctx context.Context, enc *tracefile.Encoder, td ptrace.Traces, lines [][]byte) (int, error) {
	if e.file.Followed() && enc.Exact() {
		return e.file.AppendOf(ctx, td, lines[0])
	}
	return e.file.Append(ctx, lines...)
}
