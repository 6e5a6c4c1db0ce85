package producer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/runspan/runspan/internal/container"
)

// What Shutdown may take, at most.
const (
	flushWithin      = 5 * time.Second
	stopWithin       = 10 * time.Second
	viewerStopWithin = 2 * time.Second
)

// loopbackWarning is for an external endpoint in a container, whose loopback address leads to itself.
const loopbackWarning = "the endpoint %s is on the loopback address, and this process is in a container: other pods reach themselves there, " +
	"and this one only a collector in the same pod; take the address of the collector's Service or host"

// Runtime is the tracing of this process.
type Runtime struct {
	set       settings
	env       map[string]string
	file      string
	log       *slog.Logger
	provider  *sdktrace.TracerProvider // nil: none is installed
	collector *collector               // nil: none was started
	viewer    *viewer                  // nil: none was started
	stopping  atomic.Bool
	stop      func(context.Context) error
}

// Start decides where the spans of this process go, starts what is local, and installs the tracer
// provider and the propagator of OpenTelemetry. The Runtime is never nil. With an error nothing is
// installed and nothing runs; it is a *SettingError where a setting is wrong, or two do not go together, and
// else what is missing on this host.
func Start(ctx context.Context, cfg Config) (*Runtime, error) {
	return start(ctx, cfg, os.Getenv, true)
}

// FromEnv goes on with the run of a parent process that handed on its Runtime.Env, or of anybody who set
// those variables. Without an endpoint in them the mode is off. It starts neither a collector nor a viewer,
// and makes no run id. For another service.name set OTEL_SERVICE_NAME in the child's environment, or let
// the child call Start.
func FromEnv(ctx context.Context) (*Runtime, error) {
	return start(ctx, Config{Enabled: true}, os.Getenv, false)
}

func start(ctx context.Context, cfg Config, env environment, makeRunID bool) (*Runtime, error) {
	off := &Runtime{set: settings{mode: ModeOff}, log: cfg.Logger}
	if off.log == nil {
		off.log = slog.Default()
	}
	off.stop = func(context.Context) error { return nil }
	set, err := resolve(cfg, env)
	if err != nil {
		return off, err
	}
	r := &Runtime{set: set, log: off.log}
	r.stop = onceOnly(r.shutdown)
	if set.mode != ModeOff {
		if err := r.begin(ctx, env, makeRunID); err != nil {
			return off, errors.Join(err, r.stop(ctx))
		}
	}
	for _, warning := range r.set.warnings {
		r.log.Warn(warning)
	}
	return r, nil
}

func onceOnly(f func(context.Context) error) func(context.Context) error {
	var once sync.Once
	var err error
	return func(ctx context.Context) error {
		once.Do(func() { err = f(ctx) })
		return err
	}
}

func (r *Runtime) begin(ctx context.Context, env environment, makeRunID bool) error {
	s := &r.set
	if s.RunID == "" && makeRunID {
		s.RunID = NewRunID()
	}
	if s.ServiceInstance == "" {
		s.ServiceInstance = uuid.NewString()
	}
	own, others := s.endpoint, s.endpoint
	r.file = s.TraceJSONL
	if s.mode == ModeLocal {
		at := hostNetwork().find(ctx, s.Local.Host)
		if at.warning != "" {
			s.warn("%s", at.warning)
		}
		var err error
		if r.collector, err = startCollector(ctx, s, at, r.log); err != nil {
			return err
		}
		go r.watch(r.collector.child, "spans of this run are lost from now on")
		own, others, r.file = r.collector.own, r.collector.others, r.collector.file
	} else if own.loopback() && container.Kind(env) != "" {
		s.warn(loopbackWarning, own.traces())
	}
	r.env = s.childEnv(others, env)
	if !s.NoSpans {
		var err error
		if r.provider, err = newProvider(ctx, s, own, r.log); err != nil {
			return err
		}
	}
	if s.Viewer.Enabled {
		var err error
		if r.viewer, err = startViewer(ctx, s, r.file); err != nil {
			r.log.Warn("there is no viewer; spans are taken all the same", "error", err)
		} else {
			go r.watch(r.viewer.child, "its pages are gone; spans are taken all the same")
		}
	}
	// Last: with an error nothing is installed.
	if r.provider != nil {
		otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))
		otel.SetTracerProvider(r.provider)
	}
	return nil
}

// watch says when a child ends that should not.
func (r *Runtime) watch(c *child, then string) {
	<-c.done
	if !r.stopping.Load() {
		r.log.Error(c.name+" ended: "+then, "run.id", r.set.RunID, "how", c.how())
	}
}

// Mode says where the spans go.
func (r *Runtime) Mode() Mode { return r.set.mode }

// RunID is the run of this process; "" with ModeOff, and after FromEnv where the environment names none.
func (r *Runtime) RunID() string {
	if r.set.mode == ModeOff {
		return ""
	}
	return r.set.RunID
}

// Endpoint is where child processes send to, "" with ModeOff.
func (r *Runtime) Endpoint() string { return r.env["OTEL_EXPORTER_OTLP_ENDPOINT"] }

// TraceFile is the file of the local collector, or Config.TraceJSONL.
func (r *Runtime) TraceFile() string { return r.file }

// ViewerURL is the address of the viewer's pages, "" where none was started.
func (r *Runtime) ViewerURL() string {
	if r.viewer == nil {
		return ""
	}
	return r.viewer.url
}

// Warnings are what a person should know and is no error; they were logged too.
func (r *Runtime) Warnings() []string { return slices.Clone(r.set.warnings) }

// Env is the environment for child processes, to be laid over their own: the standard OTEL_* variables
// with the endpoint, the run and the sampling of this process, its token and the paths of its
// certificates. What would lead a child elsewhere is overruled, with an empty value where it is to be
// unset. RUNSPAN_CHILD keeps children that are built with this package from starting a viewer. It is
// empty with ModeOff.
func (r *Runtime) Env() map[string]string {
	if r.env == nil {
		return map[string]string{}
	}
	return maps.Clone(r.env)
}

// Environ is Env in the form of os.Environ, sorted: cmd.Env = append(os.Environ(), rt.Environ()...).
func (r *Runtime) Environ() []string {
	list := make([]string, 0, len(r.env))
	for _, name := range slices.Sorted(maps.Keys(r.env)) {
		list = append(list, name+"="+r.env[name])
	}
	return list
}

// Flush sends what has ended so far and returns when it is delivered, was lost, or ctx has ended.
func (r *Runtime) Flush(ctx context.Context) error {
	if r.provider == nil {
		return nil
	}
	if err := r.provider.ForceFlush(ctx); err != nil {
		return fmt.Errorf("producer: spans were not all delivered to %s: %w", r.Endpoint(), err)
	}
	return nil
}

// Shutdown sends what has ended so far, then stops what Start has started: at most 17 s, and the
// flush ends with ctx. A second call returns the result of the first.
func (r *Runtime) Shutdown(ctx context.Context) error { return r.stop(ctx) }

func (r *Runtime) shutdown(ctx context.Context) error {
	var errs []error
	if r.provider != nil {
		flush, cancel := context.WithTimeout(ctx, flushWithin)
		if err := r.provider.Shutdown(flush); err != nil {
			errs = append(errs, fmt.Errorf("producer: spans were not all delivered to %s: %w", r.Endpoint(), err))
		}
		cancel()
	}
	if r.collector != nil && r.collector.ended() {
		errs = append(errs, fmt.Errorf("producer: %s ended before its time: %s", r.collector.name, r.collector.how()))
	}
	r.stopping.Store(true)
	if r.viewer != nil {
		errs = append(errs, r.viewer.stop(viewerStopWithin))
	}
	if r.collector != nil {
		errs = append(errs, r.collector.stop(stopWithin))
	}
	return errors.Join(errs...)
}
