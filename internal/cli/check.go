package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/runspan/runspan/internal/tracefile"
)

// checkReport is what `runspan check` found in a log.
type checkReport struct {
	Log   string   `json:"log"`
	Files []string `json:"files"`
	Lines int64    `json:"lines"`
	Bytes int64    `json:"bytes"`
	Spans int64    `json:"spans"`
	Runs  int      `json:"runs"`
	Clean bool     `json:"clean"`

	BadLineCount int64     `json:"bad_line_count"`
	BadLines     []badLine `json:"bad_lines,omitempty"`

	// DuplicateCount is how many spans are too many.
	DuplicateCount int64       `json:"duplicate_count"`
	Duplicates     []duplicate `json:"duplicates,omitempty"`

	WithoutRunCount int64    `json:"without_run_count"`
	WithoutRun      []atLine `json:"without_run,omitempty"`

	// WithoutIDsCount is how many spans have no valid trace id or span id.
	WithoutIDsCount int64    `json:"without_ids_count"`
	WithoutIDs      []atLine `json:"without_ids,omitempty"`

	// RefusedCount is how many lines hold something invalid, so that many a reader takes nothing of them.
	RefusedCount int64    `json:"refused_count"`
	Refused      []atLine `json:"refused,omitempty"`

	// LostCount is how many parts of good lines this version does not know or cannot read: no finding.
	LostCount int64    `json:"lost_count"`
	Lost      []atLine `json:"lost,omitempty"`

	// Tails are bytes behind the last newline of files: no finding.
	Tails []tail `json:"tails,omitempty"`

	bad badLines
}

// duplicate is a span that is there more than once.
type duplicate struct {
	TraceID string   `json:"trace_id"`
	SpanID  string   `json:"span_id"`
	Count   int64    `json:"count"`
	Places  []atLine `json:"places"` // the first ones
}

// atLine is a line of a file.
type atLine struct {
	File string `json:"file"`
	Line int64  `json:"line"`
}

// tail is what is behind the last newline of a file.
type tail struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
}

// checker checks the files of one log.
type checker struct {
	*app
	report checkReport
	limit  int
	runs   map[string]bool
	ids    spanSorter

	// starts are the numbers of the first lines of the files, counted through the log.
	starts []int64
}

func newCheck(a *app) *cobra.Command {
	var limit int
	var quiet bool
	cmd := &cobra.Command{
		Use:   "check PATH...",
		Short: "Check files against the contract of docs/file-format.md",
		Long: `Check trace files: every line is one JSON object with spans, in UTF-8; no span is there twice (the same
trace id and span id within a file and its segments); every span names a run and has valid ids. Bytes
behind the last newline are no finding: a line is being written there, or was torn by a crash.

Duplicates are found exactly. Beyond half a million spans their ids are sorted in the folder for
temporary files (TMPDIR), 32 bytes a span.

Exit codes: 0 clean, 1 findings, 2 something could not be read.`,
		Example: `  runspan check data
  runspan check --quiet --limit 0 'traces/*/traces.jsonl' || echo "look at these"`,
		Args: withArgs(-1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.check(cmd.Context(), args, limit, quiet) },
	}
	addLimit(cmd, &limit)
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print nothing about clean files")
	a.addMaxLine(cmd)
	return cmd
}

// addLimit adds the flag of commands that list lines.
func addLimit(cmd *cobra.Command, limit *int) {
	cmd.Flags().IntVar(limit, "limit", 20, "how many of each kind are listed for a file; 0 lists all, and keeps them in memory")
}

func (a *app) check(ctx context.Context, paths []string, limit int, quiet bool) error {
	logs, err := a.logsOf(paths)
	if err != nil {
		return err
	}
	_, total := filesAndBytes(logs)
	p := a.newProgress("check", total)
	reports := []checkReport{}
	found := 0
	for _, log := range logs {
		report, err := a.checkLog(ctx, log, p, limit)
		if err != nil {
			return err
		}
		if !report.Clean {
			found++
		}
		switch {
		case quiet && report.Clean:
		case a.json:
			reports = append(reports, report)
		default:
			a.printReport(&report)
		}
	}
	if a.json {
		err = a.printJSON(struct {
			Clean bool          `json:"clean"`
			Logs  []checkReport `json:"logs"`
		}{found == 0 && !a.failed, reports})
	} else if len(logs) > 1 && !quiet {
		a.printf("%s checked, %s with findings\n", plural(len(logs), "log"), humanize.Comma(int64(found)))
	}
	if err == nil && found > 0 {
		err = errFindings
	}
	return err
}

func (a *app) checkLog(ctx context.Context, log traceLog, p *progress, limit int) (report checkReport, err error) {
	c := &checker{
		app:    a,
		report: checkReport{Log: log.live, bad: badLines{limit: limit}},
		limit:  limit,
		runs:   map[string]bool{},
		ids:    spanSorter{most: sorterPlaces},
	}
	defer func() { err = errors.Join(err, c.ids.close()) }()
	for _, path := range log.files {
		if err := c.checkFile(ctx, path, p); err != nil {
			return c.report, err
		}
	}
	r := &c.report
	r.Runs = len(c.runs)
	r.BadLineCount, r.BadLines = r.bad.Count, r.bad.List
	if err := c.ids.duplicates(c.addDuplicate); err != nil {
		return c.report, err
	}
	r.Clean = r.BadLineCount+r.DuplicateCount+r.WithoutRunCount+r.WithoutIDsCount+r.RefusedCount == 0
	return c.report, nil
}

func (c *checker) checkFile(ctx context.Context, path string, p *progress) error {
	c.starts = append(c.starts, c.report.Lines)
	c.report.Files = append(c.report.Files, path)
	var failed error
	sum, err := c.scan(ctx, path, p, func(line *tracefile.ScannedLine) error {
		failed = c.checkLine(path, line)
		return failed
	})
	switch {
	case err == nil:
	case failed != nil:
		return failed
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		c.fail(err)
	}
	c.report.Lines += sum.Lines
	c.report.Bytes += sum.Bytes
	if sum.TailBytes > 0 {
		c.report.Tails = append(c.report.Tails, tail{File: path, Offset: sum.Bytes, Bytes: sum.TailBytes})
	}
	return nil
}

func (c *checker) checkLine(path string, line *tracefile.ScannedLine) error {
	r := &c.report
	if line.Bad != nil {
		r.bad.add(newBadLine(path, line))
		return nil
	}
	at := atLine{File: path, Line: line.Number}
	if line.Lost > 0 {
		r.LostCount += int64(line.Lost) - 1
		c.count(&r.LostCount, &r.Lost, at)
		if line.Refused() != nil {
			c.count(&r.RefusedCount, &r.Refused, at)
		}
	}
	for span := range tracefile.SpansOf(line.Traces) {
		r.Spans++
		if span.Run == "" {
			c.count(&r.WithoutRunCount, &r.WithoutRun, at)
		} else if !c.runs[span.Run] {
			c.runs[strings.Clone(span.Run)] = true
		}
		trace, id := span.TraceID(), span.SpanID()
		if trace.IsEmpty() || id.IsEmpty() {
			c.count(&r.WithoutIDsCount, &r.WithoutIDs, at)
			continue
		}
		if err := c.ids.add(trace, id, r.Lines+line.Number); err != nil {
			return err
		}
	}
	return nil
}

// count counts a finding and keeps the first lines with it.
func (c *checker) count(n *int64, lines *[]atLine, at atLine) {
	*n++
	full := c.limit > 0 && len(*lines) >= c.limit
	if last := len(*lines) - 1; !full && (last < 0 || (*lines)[last] != at) {
		*lines = append(*lines, at)
	}
}

func (c *checker) addDuplicate(first []spanPlace, count int64) {
	r := &c.report
	r.DuplicateCount += count - 1
	if c.limit > 0 && len(r.Duplicates) >= c.limit {
		return
	}
	d := duplicate{TraceID: first[0].traceID(), SpanID: first[0].spanID(), Count: count}
	for _, p := range first {
		file := len(c.starts) - 1
		for int64(p.line) <= c.starts[file] {
			file--
		}
		d.Places = append(d.Places, atLine{File: r.Files[file], Line: int64(p.line) - c.starts[file]})
	}
	r.Duplicates = append(r.Duplicates, d)
}

func (a *app) printReport(r *checkReport) {
	name := visible(r.Log)
	if n := len(r.Files); n > 1 || r.Files[0] != r.Log {
		name += " (" + plural(n, "file") + ")"
	}
	a.printf("%s: %s, %s, %s, %s: ", name, plural(r.Lines, "line"), plural(r.Spans, "span"), plural(r.Runs, "run"), size(r.Bytes))
	var kinds []string
	for _, kind := range []struct {
		count int64
		what  string
	}{
		{r.BadLineCount, "bad line"},
		{r.RefusedCount, "partly invalid line"},
		{r.DuplicateCount, "duplicate span"},
	} {
		if kind.count > 0 {
			kinds = append(kinds, plural(kind.count, kind.what))
		}
	}
	if n := r.WithoutRunCount; n > 0 {
		kinds = append(kinds, plural(n, "span")+" without a run")
	}
	if n := r.WithoutIDsCount; n > 0 {
		kinds = append(kinds, plural(n, "span")+" without valid ids")
	}
	if len(kinds) == 0 {
		kinds = []string{"clean"}
	}
	a.printf("%s\n", strings.Join(kinds, ", "))

	r.bad.print(a, "  bad line: ")
	if len(r.Refused) > 0 {
		a.printf("  partly invalid, many readers take nothing of the line: %s\n", linesList(r.Refused))
	}
	for _, d := range r.Duplicates {
		a.printf("  duplicate: trace %s span %s, %d times: %s\n", d.TraceID, d.SpanID, d.Count, linesList(d.Places))
	}
	if len(r.WithoutRun) > 0 {
		a.printf("  without a run: %s\n", linesList(r.WithoutRun))
	}
	if len(r.WithoutIDs) > 0 {
		a.printf("  without valid ids: %s\n", linesList(r.WithoutIDs))
	}
	if r.LostCount > 0 {
		a.printf("  note: %s of lines, unknown or invalid, are not read: %s\n", plural(r.LostCount, "part"), linesList(r.Lost))
	}
	for _, t := range r.Tails {
		a.printf("  note: %s: %s behind the last newline, from byte %d on, are no data: a line is being written, or was torn\n",
			visible(t.File), plural(t.Bytes, "byte"), t.Offset)
	}
}

// linesList returns "FILE: lines 1, 4; OTHER: line 2".
func linesList(lines []atLine) string {
	var text strings.Builder
	for i, l := range lines {
		switch {
		case i > 0 && lines[i-1].File == l.File:
			text.WriteString(", ")
		case i > 0:
			text.WriteString("; ")
			fallthrough
		default:
			text.WriteString(visible(l.File) + ": line ")
		}
		text.WriteString(humanize.Comma(l.Line))
	}
	return text.String()
}
