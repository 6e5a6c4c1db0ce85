// Package report shows results to people: as tables in a terminal, and as the page in docs.
package report

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/runspan/runspan/test/bench/internal/contender"
	"github.com/runspan/runspan/test/bench/internal/limits"
	"github.com/runspan/runspan/test/bench/internal/results"
	"github.com/runspan/runspan/test/bench/internal/stats"
)

// Tables returns all results as tables for a terminal.
func Tables(r results.Results) string {
	var out bytes.Buffer
	if r.Whole != nil {
		fmt.Fprintf(&out, "\nWhole collectors: %s\n\n", describe(r.Whole.Workload))
		align(&out, wholeTable(r.Whole))
		if rows := latencyTable(r.Whole); rows != nil {
			fmt.Fprintf(&out, "\nLatency at a fixed %.0f spans a second, from the intended send time\n\n", r.Whole.Rate)
			align(&out, rows)
		}
	}
	if r.Delivery != nil {
		fmt.Fprintf(&out, "\nDelivery: latency at a fixed %.0f spans a second, from the intended send time\n\n", r.Delivery.Rate)
		align(&out, deliveryTable(r.Delivery))
	}
	if r.Sync != nil {
		fmt.Fprintf(&out, "\nDurability: %s\n\n", describe(r.Sync.Workload))
		align(&out, syncTable(r.Sync))
	}
	if r.Processors != nil {
		fmt.Fprintf(&out, "\nProcessors alone: %d rounds of %d spans\n\n", r.Processors.Rounds, r.Processors.Spans)
		align(&out, processorTable(r.Processors))
	}
	if r.Catalogue != nil {
		fmt.Fprintf(&out, "\nCatalogue: %s\n\n", describeCatalogue(r.Catalogue))
		align(&out, catalogueTable(r.Catalogue))
	}
	for _, curve := range r.Curves {
		fmt.Fprintf(&out, "\nCPU a span by %s, us\n\n", curve.Axis)
		align(&out, curveTable(curve))
	}
	return out.String()
}

// Verdicts returns what a check has found as a table for a terminal.
func Verdicts(verdicts []limits.Verdict) string {
	rows := [][]string{{"", "ratio", "measured", "recorded", "at most", "goal"}}
	for _, v := range verdicts {
		word := "ok"
		switch {
		case v.Missed:
			word = "MISSED"
		case v.Better:
			word = "better"
		}
		goal := "–"
		if v.Goal > 0 {
			goal = number(v.Goal)
		}
		rows = append(rows, []string{
			word, v.Ratio, figure(v.Measured.Summary), number(v.Recorded), number(v.Bound()) + " + spread", goal,
		})
	}
	out := bytes.NewBufferString("\n")
	align(out, rows)
	return out.String()
}

// align writes rows in columns, two spaces apart.
func align(out *bytes.Buffer, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell + strings.Repeat(" ", 2+widths[i]-utf8.RuneCountInString(cell)))
		}
		out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

func wholeTable(w *results.Whole) [][]string {
	ratio := ratiosOf(w)
	rows := [][]string{{"contender", "CPU us a span", "x nop", "x stock equivalent", "peak memory MiB", "x stock equivalent"}}
	for _, c := range w.Contenders {
		rows = append(rows, []string{
			c.Name, figure(c.CPU),
			ratio("cpu " + c.Name + "/" + contender.Nop), ratio("cpu " + c.Name + "/" + contender.Stock),
			figure(c.Memory), ratio("memory " + c.Name + "/" + contender.Stock),
		})
	}
	return rows
}

// ratiosOf returns the ratios of w by name: 1 for what is compared with itself, a dash for what is not
// compared.
func ratiosOf(w *results.Whole) func(name string) string {
	ratios := map[string]stats.Summary{}
	for _, r := range w.Ratios {
		ratios[r.Name] = r.Summary
	}
	return func(name string) string {
		if s, ok := ratios[name]; ok {
			return figure(s)
		}
		_, sides, _ := strings.Cut(name, " ")
		if one, other, _ := strings.Cut(sides, "/"); one == other {
			return "1"
		}
		return "–"
	}
}

func deliveryTable(w *results.Whole) [][]string {
	ratio := ratiosOf(w)
	rows := [][]string{{"contender", "p50 ms", "p90 ms", "p99 ms", "p99 x " + contender.Write, "slowest ms", "requests"}}
	for _, c := range w.Contenders {
		if l := c.Latency; l != nil {
			rows = append(rows, []string{
				c.Name, figure(l.P50), figure(l.P90), figure(l.P99), ratio("p99 " + c.Name + "/" + contender.Write),
				figure(l.Max), strconv.Itoa(l.Requests),
			})
		}
	}
	return rows
}

func syncTable(w *results.Whole) [][]string {
	ratio := ratiosOf(w)
	rows := [][]string{{"contender", "spans a second", "x " + contender.Write, "CPU us a span", "x " + contender.Write}}
	for _, c := range w.Contenders {
		against := c.Name + "/" + contender.Write
		rows = append(rows, []string{c.Name, figure(c.Throughput), ratio("throughput " + against), figure(c.CPU), ratio("cpu " + against)})
	}
	return rows
}

func latencyTable(w *results.Whole) [][]string {
	rows := [][]string{{"contender", "p50 ms", "p90 ms", "p99 ms", "slowest ms", "requests"}}
	for _, c := range w.Contenders {
		if l := c.Latency; l != nil {
			rows = append(rows, []string{
				c.Name, figure(l.P50), figure(l.P90), figure(l.P99), figure(l.Max), strconv.Itoa(l.Requests),
			})
		}
	}
	if len(rows) == 1 {
		return nil
	}
	return rows
}

func processorTable(p *results.Processors) [][]string {
	rows := [][]string{{"run named on", "run_id ns a span", "stock pair ns a span", "ratio", "run_id bytes a span", "stock pair bytes a span"}}
	for _, c := range p.Cases {
		rows = append(rows, []string{
			naming(c), figure(c.RunID.CPU), figure(c.Stock.CPU),
			figure(stats.Summarize(stats.Ratios(c.RunID.CPU.Rounds, c.Stock.CPU.Rounds))),
			figure(c.RunID.Bytes), figure(c.Stock.Bytes),
		})
	}
	return rows
}

func naming(c results.Case) string {
	if c.Runs > 1 {
		return fmt.Sprintf("spans, %d runs mixed", c.Runs)
	}
	return string(c.Naming)
}

func curveTable(c results.Curve) [][]string {
	head := []string{c.Axis}
	for _, s := range c.Series {
		head = append(head, s.Name)
	}
	rows := [][]string{head}
	for i, x := range c.X {
		row := []string{fmt.Sprintf("%.0f", x)}
		for _, s := range c.Series {
			row = append(row, figure(s.CPU[i]))
		}
		rows = append(rows, row)
	}
	return rows
}

func describe(w results.Workload) string {
	return fmt.Sprintf("%d rounds of %d spans, %d spans a request (%.0f KB), %d attributes a span, %d clients, %s on the %s",
		w.Rounds, w.Spans, w.Shape.Spans, float64(w.RequestBytes)/1e3, w.Attributes, w.Clients, plural(w.Runs, "run"), w.Naming)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// figure writes a summary with as many digits as its median deserves.
func figure(s stats.Summary) string {
	digits := decimals(s.Median)
	return strconv.FormatFloat(s.Median, 'f', digits, 64) + " ± " + strconv.FormatFloat(s.Spread, 'f', digits, 64)
}

func number(x float64) string {
	return strconv.FormatFloat(x, 'f', decimals(x), 64)
}

// decimals of a figure of the size of x: three digits in all, down to thousandths.
func decimals(x float64) int {
	switch {
	case x >= 100:
		return 0
	case x >= 10:
		return 1
	case x >= 1:
		return 2
	default:
		return 3
	}
}
