package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/runspan/runspan/internal/tracefile"
)

// repairReport is what `runspan repair` did.
type repairReport struct {
	File  string `json:"file"`
	Copy  string `json:"copy"`
	Lines int64  `json:"lines"` // in the copy
	Bytes int64  `json:"bytes"`

	BadLineCount int64     `json:"bad_line_count"`
	BadLines     []badLine `json:"bad_lines,omitempty"`

	// Tail is what was behind the last newline.
	Tail *tail `json:"tail,omitempty"`
	// TailKept says that it was a whole line, and is in the copy.
	TailKept bool `json:"tail_kept,omitempty"`
}

func newRepair(a *app) *cobra.Command {
	var output string
	var limit int
	cmd := &cobra.Command{
		Use:   "repair FILE",
		Short: "Write a clean copy of a file beside it",
		Long: `Write the good lines of a trace file, byte by byte and in their order, to FILE.repaired, and say what was
left out and where it stands. The file itself is not changed. Whole lines within a bad one (their newline
was lost, or they are glued to a torn one) get lines of their own. What is behind the last newline is kept
when it is a whole line.

Until all is written the copy is FILE.repaired` + partialSuffix + `. Ctrl-C and errors remove it; after kill -9 or a power
failure it is still there: remove it and start again. A file called FILE.repaired is whole.

A running collector repairs its own file; there is nothing to be done for it.

Exit codes: 0 nothing was wrong, 1 the copy is written and something was left out or mended, 2 there is no
copy.`,
		Example: `  runspan repair data/traces.jsonl
  runspan repair --output clean.jsonl broken.jsonl && echo "nothing was wrong"`,
		Args: withArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.repair(cmd.Context(), args[0], output, limit)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "the copy; default FILE.repaired, which no pattern for *.jsonl finds")
	addLimit(cmd, &limit)
	a.addMaxLine(cmd)
	return cmd
}

func (a *app) repair(ctx context.Context, path, output string, limit int) error {
	if output == "" {
		output = path + ".repaired"
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return fmt.Errorf("%s is a folder: name a file, `runspan check` says which", path)
	}
	if !info.Mode().IsRegular() {
		return errNotRegular(path)
	}
	file, err := createNew(output, "remove it, or name another with --output")
	if err != nil {
		return err
	}
	r := repairReport{File: path, Copy: output}
	bad := badLines{limit: limit}
	p := a.newProgress("repair", info.Size())
	keep := func(line []byte) error {
		r.Lines++
		r.Bytes += int64(len(line)) + 1
		return file.writeLine(line)
	}
	sum, err := a.scan(ctx, path, p, func(line *tracefile.ScannedLine) error {
		if line.Bad == nil {
			return keep(line.Data)
		}
		left := newBadLine(path, line)
		for _, piece := range tracefile.Salvage(line.Data) {
			if err := keep(piece); err != nil {
				return err
			}
			left.Kept++
		}
		bad.add(left)
		return nil
	})
	if err == nil && sum.TailBytes > 0 {
		r.Tail = &tail{File: path, Offset: sum.Bytes, Bytes: sum.TailBytes}
		r.TailKept, err = a.keepTail(path, *r.Tail, keep)
	}
	if err != nil {
		file.abandon()
		return err
	}
	if err := file.commit(); err != nil {
		return fmt.Errorf("writing %s: %w", output, err)
	}
	r.BadLineCount, r.BadLines = bad.Count, bad.List
	if a.json {
		err = a.printJSON(r)
	} else {
		a.printRepair(&r, &bad)
	}
	if err == nil && (bad.Count > 0 || r.Tail != nil) {
		err = errFindings
	}
	return err
}

// keepTail keeps what is behind the last newline when it is one whole line, and reports whether it is.
func (a *app) keepTail(path string, t tail, keep func([]byte) error) (whole bool, err error) {
	if t.Bytes > int64(a.maxLine) {
		return false, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }() // it was only read
	data := make([]byte, t.Bytes)
	if _, err := f.ReadAt(data, t.Offset); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	for _, piece := range tracefile.Salvage(data) {
		if err := keep(piece); err != nil {
			return false, err
		}
		whole = len(piece) == len(data)
	}
	return whole, nil
}

func (a *app) printRepair(r *repairReport, bad *badLines) {
	a.printf("%s: %s, %s\n", visible(r.Copy), plural(r.Lines, "line"), size(r.Bytes))
	bad.print(a, "  left out: ")
	if t := r.Tail; t != nil {
		did := "left out"
		if r.TailKept {
			did = "a whole line, kept"
		}
		a.printf("  %s behind the last newline, from byte %d on: %s\n", plural(t.Bytes, "byte"), t.Offset, did)
	}
	if bad.Count == 0 && r.Tail == nil {
		a.printf("  nothing was wrong with %s\n", visible(r.File))
	}
}
