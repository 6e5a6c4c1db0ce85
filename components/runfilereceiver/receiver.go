package runfilereceiver

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pipeline"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/runspan/runspan/components/runfilereceiver/internal/metadata"
	"github.com/runspan/runspan/internal/tracefile"
)

// timing holds the times that nobody needs to set, so that tests can be quick.
type timing struct {
	firstPause, longestPause time.Duration // between two attempts while the backend is down
	stall                    time.Duration // without an answer the backend counts as down
	quiet, drain             time.Duration // at shutdown: no growth for quiet, at most drain
	rereads                  []time.Duration
	save, settle             time.Duration
	giveUp                   time.Duration // at shutdown, for an exporter that was told to stop
	check                    time.Duration // between two looks at whether all is delivered
}

var defaultTiming = timing{
	firstPause: 50 * time.Millisecond, longestPause: 5 * time.Second,
	stall: 10 * time.Second,
	quiet: 500 * time.Millisecond, drain: 10 * time.Second,
	// Two seconds in all, the time that a network file system takes to show what was written.
	rereads: []time.Duration{
		50 * time.Millisecond, 150 * time.Millisecond, 300 * time.Millisecond,
		500 * time.Millisecond, time.Second,
	},
	save: time.Second, settle: 2 * time.Second,
	giveUp: 5 * time.Second, check: 20 * time.Millisecond,
}

type runFileReceiver struct {
	cfg       *Config
	name      component.ID
	next      consumer.Traces
	logger    *zap.Logger
	telemetry *metadata.TelemetryBuilder
	timing    timing
	match     matcher
	tell      *teller
	gate      *gate

	tail    *tracefile.Tail
	host    component.Host
	cancel  context.CancelFunc
	done    <-chan struct{} // closed by cancel
	running bool
	tasks   sync.WaitGroup // the reading goroutine and the batches on their way
	remove  func()         // from whoever shows the progress
}

func newRunFileReceiver(cfg *Config, set receiver.Settings, next consumer.Traces, timing timing) (*runFileReceiver, error) {
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	r := &runFileReceiver{
		cfg: cfg, name: set.ID, next: next, logger: set.Logger, telemetry: telemetry, timing: timing,
		match:  newMatcher(cfg.Match),
		tell:   newTeller(set.Logger, telemetry, set.ID.String()),
		gate:   newGate(set.Logger, timing),
		remove: func() {},
	}
	return r, nil
}

// progressViewer is what an extension implements that shows how far the readers are.
type progressViewer interface {
	// AddReader is called at the start of a reader; progress may be called from any goroutine until
	// the returned function was.
	AddReader(name string, progress func() []tracefile.TailProgress) (remove func())
}

// Start begins to read. Nothing that is wrong with the files or the places makes it fail.
func (r *runFileReceiver) Start(ctx context.Context, host component.Host) error {
	if err := r.checkLoop(host); err != nil {
		return err
	}
	r.host = host
	r.tail = tracefile.NewTail(tracefile.TailSettings{
		Name:          r.name.String(),
		Include:       r.cfg.Include,
		StartAtEnd:    r.cfg.StartAt == startAtEnd,
		Places:        r.cfg.Places,
		MaxBatchBytes: int64(r.cfg.MaxBatchBytes),
		MaxLineBytes:  int64(r.cfg.MaxLineBytes),
		PollInterval:  r.cfg.PollInterval,
		SaveInterval:  r.timing.save,
		SettleTime:    r.timing.settle,
		OnEvent:       r.tell.fileEvent,
	})
	if err := r.observe(); err != nil {
		r.tail.Close()
		return err
	}
	for _, extension := range host.GetExtensions() {
		if viewer, ok := extension.(progressViewer); ok {
			r.remove = viewer.AddReader(r.name.String(), r.Progress)
			break
		}
	}
	// The context of Start ends with it.
	ctx, cancel := context.WithCancel(tracefile.WithTail(context.WithoutCancel(ctx), r.cfg.Include))
	r.cancel, r.done, r.running = cancel, ctx.Done(), true
	r.tasks.Go(func() { r.read(ctx) })
	r.tasks.Go(func() { r.watch(ctx) })
	return nil
}

// checkLoop refuses a receiver of whose possible exporters each writes what it reads. Which of them
// its pipeline has cannot be seen from here: where some do and some do not, the exporter refuses the
// first batch (tracefile.CheckLoop).
func (r *runFileReceiver) checkLoop(host component.Host) error {
	graph, ok := host.(interface {
		GetExporters() map[pipeline.Signal]map[component.ID]component.Component
	})
	if !ok {
		return nil
	}
	exporters := graph.GetExporters()[pipeline.SignalTraces]
	for id := range exporters {
		if !tracefile.WriterFeeds(id.String(), r.cfg.Include) {
			return nil
		}
	}
	if len(exporters) == 0 {
		return nil
	}
	return fmt.Errorf("include: %q: %w: give the reading pipeline an exporter that does not write it",
		r.cfg.Include, tracefile.ErrLoop)
}

// Progress returns how far the reading of each file is.
func (r *runFileReceiver) Progress() []tracefile.TailProgress { return r.tail.Progress() }

// observe registers the metrics that are asked for.
func (r *runFileReceiver) observe() error {
	attrs := r.tell.attrs
	return errors.Join(
		r.telemetry.RegisterReceiverRunFileBacklogBytesCallback(func(_ context.Context, o metric.Int64Observer) error {
			var sum int64
			for _, p := range r.Progress() {
				sum += p.Backlog
			}
			o.Observe(sum, attrs)
			return nil
		}),
		r.telemetry.RegisterReceiverRunFileBacklogSecondsCallback(func(_ context.Context, o metric.Float64Observer) error {
			var oldest time.Duration
			for _, p := range r.Progress() {
				oldest = max(oldest, p.Age)
			}
			o.Observe(oldest.Seconds(), attrs)
			return nil
		}),
		r.telemetry.RegisterReceiverRunFileBackendUpCallback(func(_ context.Context, o metric.Int64Observer) error {
			up := int64(0)
			if r.gate.up() {
				up = 1
			}
			o.Observe(up, attrs)
			return nil
		}),
	)
}

// read hands out batches until ctx ends. What is in memory at once is bounded by max_in_flight
// batches of max_batch_bytes; a longer line waits until nothing else is there.
func (r *runFileReceiver) read(ctx context.Context) {
	budget := newBudget(r.cfg.MaxInFlight, int64(r.cfg.MaxInFlight)*int64(r.cfg.MaxBatchBytes))
	d := &deliverer{next: r.next, gate: r.gate, tell: r.tell}
	for {
		if budget.wait(ctx) != nil {
			return
		}
		r.gate.waitUp(ctx)
		batch, err := r.tail.Next(ctx)
		if err != nil {
			return
		}
		n := batch.End - batch.Start
		if budget.take(ctx, n) != nil {
			return
		}
		r.tasks.Go(func() {
			defer budget.give(n)
			r.process(ctx, d, batch)
		})
	}
}

// watch has the gate see a backend that gives no answer, also where nobody asks for the metrics.
func (r *runFileReceiver) watch(ctx context.Context) {
	for sleep(ctx, r.timing.stall/10) == nil {
		r.gate.up()
	}
}

// process hands over one batch. A batch that was given up stays undelivered: its place does not move.
func (r *runFileReceiver) process(ctx context.Context, d *deliverer, batch *tracefile.TailBatch) {
	td, err := r.spans(ctx, batch)
	defer batch.Release()
	if err != nil {
		return
	}
	if filtered := r.match.keep(td); filtered > 0 {
		r.tell.filtered(ctx, filtered)
	}
	err = d.deliver(ctx, td)
	switch {
	case err == nil:
		batch.Delivered()
	case errors.Is(err, tracefile.ErrLoop):
		// Ends the collector: it would stand still with a backlog that grows, and look healthy.
		r.logger.Error("This receiver feeds the file that it reads", zap.String("path", batch.Path), zap.Error(err))
		componentstatus.ReportStatus(r.host, componentstatus.NewFatalErrorEvent(err))
		r.cancel()
	}
}

// Shutdown reads on until the files do not grow anymore, hands over what it has read, and saves the
// places. It does not wait for a backend that is down.
func (r *runFileReceiver) Shutdown(ctx context.Context) error {
	if r.running {
		r.running = false
		r.drain(ctx)
		r.cancel()
		r.waitForTasks()
		r.remove()
		r.tail.Close()
	}
	r.telemetry.Shutdown()
	return nil
}

// waitForTasks waits until every batch has come back. An exporter that does not look at its context
// must not hold up the end of the process: its batch stays undelivered.
func (r *runFileReceiver) waitForTasks() {
	ended := make(chan struct{})
	go func() {
		r.tasks.Wait()
		close(ended)
	}()
	timer := time.NewTimer(r.timing.giveUp)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		r.logger.Warn("An exporter does not give up a batch at shutdown: it comes again after the next start",
			zap.Duration("waited", r.timing.giveUp))
	}
}

// ended reports whether reading was given up before the shutdown, because of a loop.
func (r *runFileReceiver) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

func (r *runFileReceiver) drain(ctx context.Context) {
	started := time.Now()
	for ctx.Err() == nil && !r.ended() && r.gate.up() && time.Since(started) < r.timing.drain {
		if r.tail.CaughtUp(started, r.timing.quiet) {
			return
		}
		time.Sleep(r.timing.check)
	}
	backlog := int64(0)
	for _, p := range r.Progress() {
		backlog += p.Backlog
	}
	if backlog > 0 {
		r.logger.Info("Shutting down with a backlog: it is read on after the next start",
			zap.Int64("bytes", backlog), zap.Strings("include", cleaned(r.cfg.Include)))
	}
}

func cleaned(paths []string) []string {
	clean := make([]string, len(paths))
	for i, path := range paths {
		clean[i] = filepath.Clean(path)
	}
	return clean
}
