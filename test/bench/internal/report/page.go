package report

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/runspan/runspan/test/bench/internal/results"
)

// picturePath is where the picture of the curves is, from the page.
const picturePath = "img/cost.svg"

// Page returns docs/performance.md: all of it from the results, but the reading of the figures.
func Page(r results.Results, reading string) ([]byte, error) {
	if r.Whole == nil || r.Delivery == nil || r.Sync == nil || r.Processors == nil || r.Catalogue == nil || len(r.Curves) == 0 {
		return nil, errors.New("the results lack a part: measure with -json alone, and with -delivery, -sync, -catalogue and -curves all")
	}
	var out bytes.Buffer
	out.WriteString("# Performance\n\n" +
		"<!-- Written by `go run ./test/bench -docs` from test/bench/results/latest.json. Edit only test/bench/reading.md. -->\n\n")
	fmt.Fprintf(&out, "%s\n\n", strings.TrimSpace(reading))
	writeWhole(&out, r.Whole)
	writeDelivery(&out, r.Delivery)
	writeSync(&out, r.Sync)
	writeProcessors(&out, r.Processors)
	writeCatalogue(&out, r.Catalogue)
	writeCurves(&out, r.Curves)
	writeMethod(&out, r)
	return out.Bytes(), nil
}

func writeWhole(out *bytes.Buffer, w *results.Whole) {
	fmt.Fprintf(out, "## Whole collectors\n\n%s. %s\n\n", sentence(describe(w.Workload)),
		"Ratios are paired: both sides of a ratio are of the same round.")
	markdown(out, wholeTable(w))
	out.WriteString("\nThe contenders:\n\n")
	listContenders(out, w)
	if rows := latencyTable(w); rows != nil {
		fmt.Fprintf(out, "Latency of a request at a fixed rate of %.0f spans a second, from the moment at which it should "+
			"have been sent to its acknowledgement. The medians of the rounds' percentiles:\n\n", w.Rate)
		markdown(out, rows)
		out.WriteString("\n")
	}
}

func writeDelivery(out *bytes.Buffer, w *results.Whole) {
	fmt.Fprintf(out, "## Clients and backends\n\nLatency of a request at %.0f spans a second, half of what this machine "+
		"keeps up with a backend and the clients on its cores too, %d rounds of %.0f s:\n\n", w.Rate, w.Rounds, w.RateSeconds)
	markdown(out, deliveryTable(w))
	out.WriteString("\n")
	listContenders(out, w)
}

func writeSync(out *bytes.Buffer, w *results.Whole) {
	fmt.Fprintf(out, "## Durability\n\n%s:\n\n", sentence(describe(w.Workload)))
	markdown(out, syncTable(w))
	out.WriteString("\n")
	listContenders(out, w)
}

func listContenders(out *bytes.Buffer, w *results.Whole) {
	for _, c := range w.Contenders {
		fmt.Fprintf(out, "- `%s`: %s\n", c.Name, c.What)
	}
	out.WriteString("\n")
}

func writeProcessors(out *bytes.Buffer, p *results.Processors) {
	fmt.Fprintf(out, "## Processors alone\n\n`run_id` beside `%s`, called one after the other in one process, %d rounds of %d "+
		"spans. CPU time of the calling thread; decoding and garbage collection are not in it.\n\n",
		strings.Join(p.Pair, "` and `"), p.Rounds, p.Spans)
	markdown(out, processorTable(p))
	out.WriteString("\n")
}

func writeCurves(out *bytes.Buffer, curves []results.Curve) {
	fmt.Fprintf(out, "## How cost grows\n\n![CPU a span by %s](%s)\n\n", axisNames(curves), picturePath)
	w := curves[0].Workload
	fmt.Fprintf(out, "One thing grows, all else is as above, with %d rounds of %d spans (at most) for each point. "+
		"`runs`: each request is of one run, named on its resource. `mixed runs`: each span names its run, the next span "+
		"the next run. CPU of the collector, us a span:\n\n", w.Rounds, w.Spans)
	for _, c := range curves {
		markdown(out, curveTable(c))
		out.WriteString("\n")
	}
}

func axisNames(curves []results.Curve) string {
	names := make([]string, len(curves))
	for i, c := range curves {
		names[i] = c.Axis
	}
	return strings.Join(names, ", ")
}

func writeMethod(out *bytes.Buffer, r results.Results) {
	w := r.Whole
	fmt.Fprintf(out, `## How it was measured

- The collector is the program that is shipped, started with the configs in test/bench/configs. Requests are encoded
  before the clock starts and sent as they are over gRPC on loopback; only their ids are written anew for each, so that
  no two are alike. Clients and collectors share the machine.
- CPU is user and system time of the collector's process, from the kernel's clock of that process, from the first
  request to the arrival of the last span at its end, at the backend where there is one. The backend's own CPU and
  memory are not counted. Peak memory is the process's (VmHWM).
- In each round every contender gets new processes. After %d spans that are not measured they take turns, forwards and
  backwards, in %s.
- **±** is the distance from the median of the rounds to the farther end of the interval that holds the true median with
  at least 99 %% probability (sign test; with fewer than 8 rounds: of all rounds).
- Only ratios of one table travel to other machines; microseconds and milliseconds are of this one, as busy as it was.

| part | measured | source | machine |
|---|---|---|---|
`, w.WarmUp, plural(w.Slices, "slice"))
	row := func(part string, t results.Taken) {
		m := t.Machine
		fmt.Fprintf(out, "| %s | %s | %s | %s, %s, %.1f GiB, %s, %s, %s |\n", part, t.Date, cmp.Or(m.Revision, "not recorded"),
			m.Processor, plural(m.Cores, "core"), float64(m.MemoryMiB)/1024, m.Kernel, m.FileSystem, m.Go)
	}
	row("whole collectors", w.Taken)
	row("clients and backends", r.Delivery.Taken)
	row("durability", r.Sync.Taken)
	row("processors alone", r.Processors.Taken)
	row("catalogue", r.Catalogue.Taken)
	for _, c := range r.Curves {
		row("curve of "+c.Axis, c.Taken)
	}
	out.WriteString("\nMeasure on your machine: `make bench`. Write this page anew: see test/bench/README.md.\n")
}

func markdown(out *bytes.Buffer, rows [][]string) {
	for i, row := range rows {
		out.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			out.WriteString("|---" + strings.Repeat("|---:", len(row)-1) + "|\n")
		}
	}
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
