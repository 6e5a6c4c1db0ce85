// Command bench is the project's measuring stick: it starts the real collector with real configs,
// sends it spans over loopback, and reads from the operating system what that cost. See README.md
// beside it, and docs/performance.md for what it found.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/runspan/runspan/test/bench/internal/catalogue"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	step, err := catalogue.RunStep(ctx)
	if !step {
		err = run(ctx, os.Args[1:])
	}
	stop()
	switch {
	case err == nil:
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "bench: stopped; all collectors are ended")
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	switch {
	case o.docs:
		return writeDocs(o)
	case o.check || o.record:
		return check(ctx, o)
	default:
		return measureAll(ctx, o)
	}
}
