package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/runspan/runspan/producer"
)

// The exit codes of a command that cannot be started, as shells have them.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
	exitSignal        = 128 // and the number of the signal
)

func newExec(a *app) *cobra.Command {
	var flags producerFlags
	cmd := &cobra.Command{
		Use:   "exec [flags] -- COMMAND...",
		Short: "Run a program as a run, with its spans in a file or sent to a collector",
		Long: `Run a program in any language with the environment by which its OpenTelemetry SDK, and that of every
process below it, sends its spans under one run. Without --endpoint, and without OTEL_EXPORTER_OTLP_ENDPOINT, a
collector is started: it writes DIR/RUN/traces/traces.jsonl on free ports of loopback and of the address by which
other hosts reach this one, and is stopped when the command has ended. With an endpoint no collector is
started or stopped. The run id, where the spans go and the viewer's address are printed once, on the standard error.

Ray's workers get the environment too, on every host: the driver's ray.init() hands it on as its runtime_env.

Signals go to the command, and its exit code is that of ` + "`runspan exec`" + `; 128 and the number for one that a signal
ended, 127 and 126 for one that is not there or cannot be run. What goes wrong with tracing is said on the
standard error, within 22 seconds of the start; the command runs all the same, then with tracing off. Only flags
that are wrong end it before, with code 2. After the command's end stopping takes 12 seconds at most.`,
		Example: `  runspan exec -- python train.py --steps 100
  runspan exec --service-name trainer --view -- torchrun --nproc-per-node 8 train.py
  runspan exec --endpoint http://otel-collector.tracing.svc:4317 --run-id my-run -- ./serve.sh`,
		Args: withArgs(-1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.exec(cmd.Context(), flags.Config, args) },
	}
	f := cmd.Flags()
	f.SetInterspersed(false) // what stands behind COMMAND is its own
	flags.addTo(f)
	f.StringVar(&flags.Local.OutputDir, "output-dir", "", "the folder of the local collector's files; the run gets its own in it (default: data)")
	f.StringVar(&flags.Local.Host, "host", "", "the address by which other hosts reach the local collector (default: by the route to the outside)")
	f.IntVar(&flags.Local.GRPCPort, "grpc-port", 0, "the port of the local collector for gRPC (default: a free one)")
	f.IntVar(&flags.Local.HTTPPort, "http-port", 0, "the port of the local collector for HTTP (default: a free one)")
	f.StringVar(&flags.Local.Binary, "collector", "", "the path of otelcol-runspan (default: beside runspan, or in PATH)")
	f.BoolVar(&flags.Viewer.Enabled, "view", false, "start a viewer of the run")
	f.StringVar(&flags.Viewer.Host, "view-host", "", "where the viewer's pages are served (default: 127.0.0.1)")
	f.IntVar(&flags.Viewer.Port, "view-port", 0, "the port of the viewer's pages (default: 18318, or a free one)")
	f.StringVar(&flags.Viewer.JaegerQueryURL, "jaeger-query-url", "", "a Jaeger to which the viewer's pages link")
	f.StringVar(&flags.TraceJSONL, "trace-jsonl", "", "with --endpoint: the file that its collector writes, for the viewer")
	return cmd
}

func (a *app) exec(ctx context.Context, cfg producer.Config, args []string) error {
	// Ctrl-C and SIGTERM are the command's business, and what ends ctx too: it counts only until the
	// command is started.
	signals := newSignals()
	defer signals.stop()

	path, err := exec.LookPath(args[0])
	if err != nil {
		a.complain(err)
		if errors.Is(err, fs.ErrPermission) {
			return exitError(exitNotExecutable)
		}
		return exitError(exitNotFound)
	}
	cfg.Enabled, cfg.LocalCollector, cfg.NoSpans = true, true, true
	cfg.Logger = newPersonLog(a.complain)
	rt, err := producer.Start(ctx, cfg)
	if setting, ok := errors.AsType[*producer.SettingError](err); ok && !setting.FromEnv() {
		return flagError{err}
	}
	defer func() {
		if err := rt.Shutdown(context.WithoutCancel(ctx)); err != nil {
			a.complain(fmt.Errorf("warning: %w", flagError{err}))
		}
	}()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	env := os.Environ()
	switch {
	case err != nil:
		a.complain(fmt.Errorf("warning: %w: the command runs with tracing off", flagError{err}))
		env = append(env, "OTEL_SDK_DISABLED=true", "OTEL_TRACES_EXPORTER=none")
	case rt.Mode() == producer.ModeOff:
		a.complain(errors.New("tracing is off: OTEL_SDK_DISABLED is true"))
	default:
		a.introduce(rt)
		env = append(env, rt.Environ()...)
		// The driver's own variables come first; without this the same one twice would end ray.init().
		env = append(env, rayJobConfig(os.Getenv(rayVariable), rt.Env()), rayOverride+"=1")
	}

	cmd := exec.Command(path, args[1:]...) //nolint:gosec // G204: running what it is told is what this command is for
	cmd.Args[0] = args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = env
	code, err := a.runCommand(cmd, signals)
	if err != nil {
		a.complain(err)
	}
	if code == 0 {
		return nil
	}
	return code
}

// introduce says once which run it is and where to look.
func (a *app) introduce(rt *producer.Runtime) {
	where := "spans go to " + rt.Endpoint()
	if rt.Mode() == producer.ModeLocal {
		where += " and into " + rt.TraceFile()
	}
	text := "run.id " + rt.RunID() + ": " + where
	if url := rt.ViewerURL(); url != "" {
		text += "; viewer: " + url
	}
	a.complain(errors.New(text))
}

// runCommand runs the command, passes signals on to it, and returns its exit code.
func (a *app) runCommand(cmd *exec.Cmd, signals *signals) (exitError, error) {
	if err := cmd.Start(); err != nil {
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOEXEC) {
			return exitNotExecutable, err
		}
		return exitNotFound, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case signal := <-signals.received:
			_ = cmd.Process.Signal(signal) // it may just have ended
		case err := <-done:
			exit, ok := errors.AsType[*exec.ExitError](err)
			if !ok {
				return 0, err
			}
			if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
				return exitError(exitSignal + int(status.Signal())), nil
			}
			return exitError(cmp.Or(exit.ExitCode(), 1)), nil
		}
	}
}
