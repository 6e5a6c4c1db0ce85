// Command demo shows Runspan at work: it starts the collector with configs/local.yaml and sends it
// simulated training runs, some over and some live, until Ctrl-C.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/runspan/runspan/test/simulation"
)

type options struct {
	collector, config, data string
	seed                    uint64
	speed                   float64
}

// endSignals end the demo. SIGPIPE, of `make demo | head`, would end it without its collector.
var endSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE}

func main() {
	var o options
	flag.StringVar(&o.collector, "collector", "bin/otelcol-runspan", "the collector's `program`")
	flag.StringVar(&o.config, "config", "configs/local.yaml", "its configuration `file`")
	flag.StringVar(&o.data, "data", "data/demo", "the `folder` for traces.jsonl; what is there stays")
	flag.Uint64Var(&o.seed, "seed", 1, "what the runs are made from: the same seed makes the same runs")
	flag.Float64Var(&o.speed, "speed", 1, "how many times faster than in life the live runs go")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), endSignals...)
	err := demo(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// demo runs until ctx ends, which is no error, or until something fails.
func demo(ctx context.Context, o options) (err error) {
	if flag.NArg() > 0 {
		return fmt.Errorf("%q: there are no arguments, only options: see -help", flag.Arg(0))
	}
	if !(o.speed > 0) {
		return fmt.Errorf("-speed %g: must be above 0", o.speed)
	}
	at := addressesOf(os.Getenv)
	if err := at.check(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(o.data, 0o755); err != nil {
		return fmt.Errorf("-data: %w", err)
	}
	c, err := startCollector(o, filepath.Join(o.data, "collector.log"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	if err := c.awaitReady(ctx, at.health); err != nil {
		return errUnlessEnded(ctx, err)
	}
	fmt.Printf("\n  The page   http://%s\n  The file   %s\n  Its log    %s\n\nCtrl-C ends the demo.\n\n",
		at.viewer, filepath.Join(o.data, "traces.jsonl"), c.log)

	sending, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-c.ended:
			cancel(c.failed("it ended"))
		case <-sending.Done():
		}
	}()
	to := simulation.Endpoints{GRPC: at.grpc, HTTP: at.http}
	return errUnlessEnded(ctx, sendRuns(sending, o, to, time.Now()))
}

// errUnlessEnded returns what went wrong, nil where that was only the end that the user asked for.
func errUnlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
