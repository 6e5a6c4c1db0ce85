package report

import (
	"bytes"
	"fmt"

	"github.com/runspan/runspan/test/bench/internal/results"
	"github.com/runspan/runspan/test/bench/internal/stats"
)

func describeCatalogue(c *results.Catalogue) string {
	return fmt.Sprintf("a file of %d spans of %s, %.2f GB, %d rounds", c.Spans, plural(c.Runs, "run"), float64(c.Bytes)/1e9, c.Rounds)
}

func catalogueTable(c *results.Catalogue) [][]string {
	ratios := map[string]stats.Summary{}
	for _, r := range c.Ratios {
		ratios[r.Name] = r.Summary
	}
	return [][]string{
		{"what", "figure"},
		{"lines as run_file writes them, MB a second", figure(c.Own)},
		{"lines of another writer, MB a second", figure(c.Foreign)},
		{"the usual way, MB a second", figure(c.Usual)},
		{"CPU, of the usual way's", figure(ratios["catalogue cpu own/usual"])},
		{"peak memory, MiB", figure(c.Memory)},
		{"restart with the cache, ms", figure(c.Restart)},
		{"right again after 1,000 spans, ms", figure(c.Append)},
		{"the slowest of 20 times, ms", figure(c.SlowestAppend)},
		{fmt.Sprintf("a run of %d spans opened, ms", c.OpenSpans), figure(c.Open)},
		{fmt.Sprintf("a trace of %d spans answered, ms", c.TraceSpans), figure(c.Trace)},
		{"its answer before compression, MB", number(float64(c.TraceBytes) / 1e6)},
	}
}

func writeCatalogue(out *bytes.Buffer, c *results.Catalogue) {
	fmt.Fprintf(out, "## The catalogue of runs\n\nWhat `internal/runindex` needs to know the runs of %s. One core, the file in the "+
		"page cache as far as it has room. The usual way is a Python program that parses every line:\n\n", describeCatalogue(c))
	markdown(out, catalogueTable(c))
	out.WriteString("\n")
}
