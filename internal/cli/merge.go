package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/runspan/runspan/internal/tracefile"
)

// mergeReport is what `runspan merge` did.
type mergeReport struct {
	File  string `json:"file"`
	From  int    `json:"from"` // files
	Lines int64  `json:"lines"`
	Spans int64  `json:"spans"`
	Bytes int64  `json:"bytes"`

	BadLineCount int64     `json:"bad_line_count"`
	BadLines     []badLine `json:"bad_lines,omitempty"`
}

func newMerge(a *app) *cobra.Command {
	var into string
	var limit int
	cmd := &cobra.Command{
		Use:   "merge PATH... --into FILE",
		Short: "Join files, for example those of single runs, into one",
		Long: `Write the lines of trace files, byte by byte, to one file: the way back from ` + "`runspan split`" + `. Files come in
the order of their names, a file behind its closed segments. Spans that are in two of the files are in
FILE twice: ` + "`runspan check`" + ` finds them. The files that are read are not changed; FILE must be missing, and
outside of the folders that are read.

Until all is written it is FILE` + partialSuffix + `, which no folder is searched for. Ctrl-C and errors remove it; after
kill -9 or a power failure it is still there: remove it and start again. A file called FILE is whole.

Exit codes: 0 all lines are in FILE, 1 bad lines were left out, 2 nothing was written.`,
		Example: `  runspan merge traces --into all.jsonl
  runspan merge traces/run-1/traces.jsonl traces/run-2/traces.jsonl --into two.jsonl`,
		Args: withArgs(-1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.merge(cmd.Context(), args, into, limit) },
	}
	cmd.Flags().StringVar(&into, "into", "", "the `file` to write")
	addLimit(cmd, &limit)
	a.addMaxLine(cmd)
	return cmd
}

func (a *app) merge(ctx context.Context, paths []string, into string, limit int) error {
	if into == "" {
		return errors.New("--into is missing: name a new file, for example --into all.jsonl")
	}
	logs, err := a.logsOf(paths)
	if err != nil {
		return err
	}
	if a.failed {
		return errors.New("nothing was merged: a part of the files could not be found")
	}
	if err := checkTarget(into, paths); err != nil {
		return err
	}
	file, err := createNew(into, "name a file that is missing")
	if err != nil {
		return err
	}
	r := mergeReport{File: into}
	bad := badLines{limit: limit}
	_, total := filesAndBytes(logs)
	p := a.newProgress("merge", total)
	for _, log := range logs {
		for _, path := range log.files {
			r.From++
			_, err := a.scan(ctx, path, p, func(line *tracefile.ScannedLine) error {
				if line.Bad != nil {
					bad.add(newBadLine(path, line))
					return nil
				}
				r.Lines++
				r.Spans += int64(line.Traces.SpanCount())
				r.Bytes += line.Bytes
				return file.writeLine(line.Data)
			})
			if err != nil {
				file.abandon()
				return err
			}
		}
	}
	if err := file.commit(); err != nil {
		return fmt.Errorf("writing %s: %w", into, err)
	}
	r.BadLineCount, r.BadLines = bad.Count, bad.List
	if a.json {
		err = a.printJSON(r)
	} else {
		a.printf("%s: %s, %s, %s of %s\n", visible(into), plural(r.Lines, "line"), plural(r.Spans, "span"), size(r.Bytes), plural(r.From, "file"))
		bad.printLeftOut(a)
	}
	if err == nil && bad.Count > 0 {
		err = errFindings
	}
	return err
}
