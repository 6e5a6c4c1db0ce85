package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/runspan/runspan/internal/tracefile"
)

// runEntry is a run as `runspan runs` tells it.
type runEntry struct {
	Run      string           `json:"run"` // "" for spans without one
	Services map[string]int64 `json:"services"`
	Spans    int64            `json:"spans"`
	Errors   int64            `json:"errors"` // spans with an error status
	First    time.Time        `json:"first,omitzero"`
	Last     time.Time        `json:"last,omitzero"`
	Files    []string         `json:"files"`
}

func newRuns(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runs PATH...",
		Short: "List the runs in files and folders",
		Long: `List the runs in trace files: their spans, spans with an error, first start, last end and services, the
latest run first. Spans that name no valid run are the run (none). Bad lines are left out and counted.`,
		Example: `  runspan runs data
  runspan runs --json 'data/traces*.jsonl' | jq -r '.runs[] | select(.errors > 0) | .run'`,
		Args: withArgs(-1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runs(cmd.Context(), args) },
	}
	a.addMaxLine(cmd)
	return cmd
}

func (a *app) runs(ctx context.Context, paths []string) error {
	logs, err := a.logsOf(paths)
	if err != nil {
		return err
	}
	files, total := filesAndBytes(logs)
	p := a.newProgress("read", total)
	runs := map[string]*runEntry{}
	var bad int64
	for _, log := range logs {
		for _, path := range log.files {
			badHere := int64(0)
			_, err := a.scan(ctx, path, p, func(line *tracefile.ScannedLine) error {
				if line.Bad != nil {
					badHere++
					return nil
				}
				addRuns(runs, path, line.Traces)
				return nil
			})
			if err != nil {
				if errors.Is(err, context.Canceled) {
					return err
				}
				a.fail(err)
			}
			if badHere > 0 {
				a.complain(fmt.Errorf("%s: %s left out: `runspan check` says where", path, plural(badHere, "bad line")))
			}
			bad += badHere
		}
	}
	list := slices.Collect(maps.Values(runs))
	slices.SortFunc(list, func(a, b *runEntry) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Run, b.Run))
	})
	if a.json {
		return a.printJSON(struct {
			Runs     []*runEntry `json:"runs"`
			Files    int         `json:"files"`
			BadLines int64       `json:"bad_lines"`
		}{list, files, bad})
	}
	rows := make([][]string, len(list))
	for i, r := range list {
		rows[i] = []string{
			runName(r.Run), humanize.Comma(r.Spans), humanize.Comma(r.Errors), stamp(r.First), stamp(r.Last),
			humanize.Comma(int64(len(r.Files))), serviceList(r.Services),
		}
	}
	a.table([]string{"RUN", ">SPANS", ">ERRORS", "FIRST", "LAST", ">FILES", "SERVICES"}, rows)
	return nil
}

// addRuns counts the spans of a line of a file.
func addRuns(runs map[string]*runEntry, path string, td ptrace.Traces) {
	for span := range tracefile.SpansOf(td) {
		r := runs[span.Run]
		if r == nil {
			r = &runEntry{Run: strings.Clone(span.Run), Services: map[string]int64{}}
			runs[r.Run] = r
		}
		r.Spans++
		service := span.Service
		if _, known := r.Services[service]; !known {
			service = strings.Clone(service) // a part of a line would keep the line
		}
		r.Services[service]++
		if span.Status().Code() == ptrace.StatusCodeError {
			r.Errors++
		}
		if n := len(r.Files); n == 0 || r.Files[n-1] != path {
			r.Files = append(r.Files, path)
		}
		first, last := spanTimes(span.Span)
		if !first.IsZero() && (r.First.IsZero() || first.Before(r.First)) {
			r.First = first
		}
		if last.After(r.Last) {
			r.Last = last
		}
	}
}

// spanTimes returns when a span began and ended, the zero time for what it does not say.
func spanTimes(span ptrace.Span) (first, last time.Time) {
	if start := span.StartTimestamp(); start != 0 {
		first, last = start.AsTime(), start.AsTime()
	}
	if end := span.EndTimestamp(); end > span.StartTimestamp() {
		last = end.AsTime()
	}
	return first, last
}

func runName(run string) string {
	if run == "" {
		return "(none)"
	}
	return visible(run)
}

// serviceList names the services with the most spans first.
func serviceList(services map[string]int64) string {
	const most = 4
	names := slices.SortedFunc(maps.Keys(services), func(a, b string) int {
		return cmp.Or(cmp.Compare(services[b], services[a]), cmp.Compare(a, b))
	})
	text := visible(strings.Join(names[:min(most, len(names))], ", "))
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
}
