// Package cli is the runspan command line, the tools for trace files and for programs that make them:
// one file a subcommand.
package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/runspan/runspan/internal/tracefile"
)

// Version of the release; equal to the collector's.
const Version = "0.1.0"

// The exit codes.
const (
	// ExitClean says that everything was read and there is nothing to say against it.
	ExitClean = 0
	// ExitFindings says that the work was done and something was found or left out.
	ExitFindings = 1
	// ExitFailed says that something could not be read, written or understood.
	ExitFailed = 2
	// ExitInterrupted says that Ctrl-C ended it, as shells do.
	ExitInterrupted = 130
)

// errFindings ends a command with ExitFindings; what was found is printed already.
var errFindings = exitError(ExitFindings)

// exitError ends a command with an exit code; why is printed already.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Main runs the command line of this process and returns its exit code.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return Run(ctx, os.Args[1:], os.Stdout, os.Stderr)
}

// Run runs a command line and returns its exit code.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	a := newApp(stdout, stderr)
	root := newRoot(a) //nolint:contextcheck // the commands have it from ExecuteContext
	root.SetArgs(args)
	root.SetOut(a.out)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	exit, found := errors.AsType[exitError](err)
	if flush := a.out.Flush(); flush != nil && (err == nil || found) {
		err, found = fmt.Errorf("writing the output: %w", flush), false
	}
	switch {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		a.end(args, errors.New("interrupted"))
		return ExitInterrupted
	case err != nil && !found:
		a.end(args, err)
		return ExitFailed
	case a.failed:
		return ExitFailed
	case found:
		return int(exit)
	}
	return ExitClean
}

// app is what the subcommands share.
type app struct {
	out    *bufio.Writer
	errOut io.Writer

	json    bool
	maxLine byteSize

	printed bool // a JSON object

	failed bool  // something was complained about and the work went on
	first  error // of what was complained about then
}

func newApp(stdout, stderr io.Writer) *app {
	return &app{out: bufio.NewWriter(stdout), errOut: stderr, maxLine: tracefile.DefaultScanLineBytes}
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "runspan",
		Short: "Tools for trace files",
		Long: `Tools for the trace files that the run_file exporter of otelcol-runspan writes, and for every other
file of OTLP JSON lines. All of them read files while a collector writes them, in bounded memory.

A PATH is a file, a folder (all ` + "`*.jsonl`" + ` in it and below), or a pattern in quotes. A file and its closed
segments (` + "`NAME-<UTC time>-<n>.jsonl`" + `) are one log. Bytes behind the last newline of a file are not data.
Links within a folder are passed over, to files and to folders; a PATH that is a link itself is followed.
A file that several paths or hard links lead to is read once.

Exit codes: 0 all is well, 1 something was found or left out, 2 something could not be read, written or
understood, 130 interrupted. ` + "`runspan doctor`" + `, which follows a span instead of reading files, has others too.`,
		Version:       Version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w: `%s --help` lists the flags", err, cmd.CommandPath())
	})
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print one JSON object instead of text; after an error it has the field error")
	root.AddCommand(
		newRuns(a), newCheck(a), newRepair(a), newSplit(a), newMerge(a), newPrune(a), newPin(a), newUnpin(a),
		newExec(a), newEnv(a), newDoctor(a), newView(a),
	)
	return root
}

// addMaxLine adds the flag of every command that decodes lines.
func (a *app) addMaxLine(cmd *cobra.Command) {
	cmd.Flags().Var(&a.maxLine, "max-line", "the longest line that is decoded, up to ten times of it in memory; a longer one counts as bad")
}

// complain prints an error.
func (a *app) complain(err error) { _, _ = fmt.Fprintf(a.errOut, "runspan: %v\n", err) }

// end prints the error that ended the command; with --json an object too, so that a reader of the
// standard output has one whatever happens.
func (a *app) end(args []string, err error) {
	a.complain(err)
	// The flag may stand behind one that is wrong; what stands behind -- is for another command.
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	if !a.json && !slices.Contains(args, "--json") || a.printed {
		return
	}
	if a.first != nil {
		err = fmt.Errorf("%w: %w", err, a.first)
	}
	_ = a.printJSON(struct {
		Error string `json:"error"`
	}{err.Error()}) // the error of the output, if it is one, is printed already
	_ = a.out.Flush()
}

// fail prints an error that does not end the work; the exit code tells.
func (a *app) fail(err error) {
	if !a.failed {
		a.first = err
	}
	a.failed = true
	a.complain(err)
}

// printf prints to the standard output. An error stays in the buffer until Run flushes it.
func (a *app) printf(format string, args ...any) { _, _ = fmt.Fprintf(a.out, format, args...) }

// printJSON prints v, indented.
func (a *app) printJSON(v any) error {
	a.printed = true
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// withArgs checks that there is an argument and at most this many, -1 for any number; the error says
// what they are.
func withArgs(most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || most >= 0 && len(args) > most {
			return fmt.Errorf("usage: %s: `%s --help` has an example", cmd.UseLine(), cmd.CommandPath())
		}
		return nil
	}
}
