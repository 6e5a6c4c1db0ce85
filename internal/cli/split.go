package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runspan/runspan/internal/runid"
	"github.com/runspan/runspan/internal/tracefile"
)

// splitReport is what `runspan split` did.
type splitReport struct {
	Into  string      `json:"into"`
	Lines int64       `json:"lines"`
	Spans int64       `json:"spans"`
	Files []*splitOut `json:"files"`

	// LostCount is how many parts of lines of several runs could not be kept: this version does not
	// know or cannot read them.
	LostCount int64 `json:"lost_count"`

	BadLineCount int64     `json:"bad_line_count"`
	BadLines     []badLine `json:"bad_lines,omitempty"`
}

// splitOut is the file of one run.
type splitOut struct {
	Run   string `json:"run"`
	File  string `json:"file"`
	Lines int64  `json:"lines"`
	Spans int64  `json:"spans"`
}

func newSplit(a *app) *cobra.Command {
	var into, name string
	var limit int
	cmd := &cobra.Command{
		Use:   "split PATH... --into DIR",
		Short: "Split shared files into one file per run",
		Long: `Write the spans of each run to a file of its own. A line of one run is copied byte by byte; of a line of
several runs each gets a line with its spans, and without what this version does not know. Spans without a
run go to the run "` + runid.Unassigned + `", unchanged. Run ids stand in file names as the run_file exporter writes
them. The files that are read are not changed; ` + "`runspan merge`" + ` is the way back.

DIR must be empty or missing, and outside of the folders that are read. Until all is written, everything is
in DIR/` + splitPartial + `, which no command reads. Ctrl-C and errors remove it; after kill -9 or a
power failure it is still there: remove all that is in DIR, which split made, and start again.

Exit codes: 0 all is in DIR, 1 bad lines or parts of lines were left out, 2 nothing was written.`,
		Example: `  runspan split data --into traces
  runspan split traces.jsonl --into by-run --name '{run.id}.jsonl'`,
		Args: withArgs(-1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.split(cmd.Context(), args, into, name, limit)
		},
	}
	cmd.Flags().StringVar(&into, "into", "", "the `folder` for the files")
	cmd.Flags().StringVar(&name, "name", "{run.id}/traces.jsonl", "the files in it")
	addLimit(cmd, &limit)
	a.addMaxLine(cmd)
	return cmd
}

func (a *app) split(ctx context.Context, paths []string, into, name string, limit int) (err error) {
	if into == "" {
		return errors.New("--into is missing: name a new folder, for example --into traces")
	}
	template, err := tracefile.ParsePathTemplate(name)
	if err != nil {
		return fmt.Errorf("--name %w", err)
	}
	if !strings.Contains(name, "{run.id}") || strings.Contains(name, "{service.name}") || filepath.IsAbs(name) || !filepath.IsLocal(name) {
		return fmt.Errorf("--name %q: must be a path within DIR with {run.id} in it and no other placeholder", name)
	}
	logs, err := a.logsOf(paths)
	if err != nil {
		return err
	}
	if a.failed {
		return errors.New("nothing was split: a part of the files could not be found")
	}
	if err := checkTarget(into, paths); err != nil {
		return err
	}
	s, err := newSplitter(into, template)
	if err != nil {
		return err
	}
	defer s.cleanUp()
	_, total := filesAndBytes(logs)
	p := a.newProgress("split", total)
	bad := badLines{limit: limit}
	for _, log := range logs {
		for _, path := range log.files {
			_, err := a.scan(ctx, path, p, func(line *tracefile.ScannedLine) error {
				if line.Bad != nil {
					bad.add(newBadLine(path, line))
					return nil
				}
				return s.line(line)
			})
			if err != nil {
				return err
			}
		}
	}
	if err := s.commit(); err != nil {
		return err
	}
	r := s.report
	r.BadLineCount, r.BadLines = bad.Count, bad.List
	if a.json {
		err = a.printJSON(r)
	} else {
		a.printf("%s: %s of %s in %s\n", visible(into), plural(r.Spans, "span"),
			plural(len(r.Files), "run"), plural(len(r.Files), "file"))
		if r.LostCount > 0 {
			a.printf("%s of lines of several runs, unknown or invalid, left out\n", plural(r.LostCount, "part"))
		}
		bad.printLeftOut(a)
	}
	if err == nil && bad.Count+r.LostCount > 0 {
		err = errFindings
	}
	return err
}

const (
	// splitPartial is where files are until all are whole. Nothing looks into hidden folders.
	splitPartial = ".runspan-split.partial"

	// splitOpen is how many files are open at once, far below the usual limit of 1,024.
	splitOpen = 64
)

// splitter writes lines to the files of their runs.
type splitter struct {
	into     string
	partial  string
	made     bool // the folder into
	template *tracefile.PathTemplate
	runs     map[string]*splitOut
	open     map[string]*lineFile
	report   splitReport
	encoded  []byte // of the last line that was split
}

func newSplitter(into string, template *tracefile.PathTemplate) (*splitter, error) {
	s := &splitter{
		into: into, partial: filepath.Join(into, splitPartial), template: template,
		runs: map[string]*splitOut{}, open: map[string]*lineFile{},
		report: splitReport{Into: into, Files: []*splitOut{}},
	}
	entries, err := os.ReadDir(into)
	if errors.Is(err, fs.ErrNotExist) {
		s.made = true
		err = os.MkdirAll(into, folderMode)
	}
	if err != nil {
		return nil, fmt.Errorf("--into %w", err)
	}
	for _, entry := range entries {
		if entry.Name() == splitPartial {
			return nil, fmt.Errorf("%s is there already: another runspan is at work, or was killed: remove it then", s.partial)
		}
		if entry.Name() != "lost+found" { // what mkfs leaves in a new volume
			return nil, fmt.Errorf("--into %s: is not empty: name an empty or a new folder", into)
		}
	}
	return s, os.Mkdir(s.partial, folderMode)
}

// line writes a line, or of each run in it a line with its spans.
func (s *splitter) line(line *tracefile.ScannedLine) error {
	runs := tracefile.SplitByRun(line.Traces)
	if len(runs) > 1 {
		s.report.LostCount += int64(line.Lost)
	}
	for _, r := range runs {
		data := line.Data
		if len(runs) > 1 {
			s.encoded = tracefile.AppendTraces(s.encoded[:0], r.Traces)
			data = s.encoded
		}
		if err := s.write(r.Run, data, int64(r.Traces.SpanCount())); err != nil {
			return err
		}
	}
	return nil
}

// write writes a line to the file of a run.
func (s *splitter) write(run string, line []byte, spans int64) error {
	out := s.runs[run]
	if out == nil {
		run = strings.Clone(run) // a part of a line would keep the line
		out = &splitOut{Run: run, File: s.template.Expand(tracefile.PathValues{Run: run})}
		s.runs[run] = out
		s.report.Files = append(s.report.Files, out)
	}
	f := s.open[run]
	if f == nil {
		if len(s.open) >= splitOpen {
			if err := s.closeAll(); err != nil {
				return err
			}
		}
		var err error
		if f, err = openLines(filepath.Join(s.partial, out.File)); err != nil {
			return err
		}
		s.open[out.Run] = f
	}
	out.Lines++
	out.Spans += spans
	s.report.Lines++
	s.report.Spans += spans
	return f.writeLine(line)
}

// commit brings the files to the disk and moves them to their places.
func (s *splitter) commit() error {
	if err := s.closeAll(); err != nil {
		return err
	}
	for _, out := range s.report.Files {
		if err := syncFile(filepath.Join(s.partial, out.File)); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(s.partial)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := os.Rename(filepath.Join(s.partial, entry.Name()), filepath.Join(s.into, entry.Name())); err != nil {
			return err
		}
	}
	s.made = false
	return syncFolder(s.partial)
}

// closeAll closes the open files. To close all of them at once costs as many opens as to close the one
// that was used least, when runs take turns.
func (s *splitter) closeAll() error {
	var err error
	for run, f := range s.open {
		err = errors.Join(err, f.close())
		delete(s.open, run)
	}
	return err
}

// cleanUp removes what is not in its place.
func (s *splitter) cleanUp() {
	_ = s.closeAll() // on the way out with an error
	_ = os.RemoveAll(s.partial)
	if s.made {
		_ = os.Remove(s.into)
	}
}
