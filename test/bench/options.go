package main

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runspan/runspan/test/bench/internal/catalogue"
	"github.com/runspan/runspan/test/bench/internal/contender"
	"github.com/runspan/runspan/test/bench/internal/measure"
	"github.com/runspan/runspan/test/bench/internal/results"
	"github.com/runspan/runspan/test/bench/internal/spans"
)

// options of the command line.
type options struct {
	root, binary, dir string
	contenders        []contender.Contender
	workload          results.Workload
	processorRounds   int
	curves            []string
	jsonFile          string
	check, record     bool
	delivery, sync    bool
	catalogue         bool
	catalogueSize     catalogue.Size
	catalogueRounds   int
	docs              bool
}

// Files of the repository, from its root.
const (
	configsDir  = "test/bench/configs"
	limitsFile  = "test/bench/limits.json"
	resultsFile = "test/bench/results/latest.json"
	readingFile = "test/bench/reading.md"
	docsFile    = "docs/performance.md"
	pictureFile = "docs/img/cost.svg"
)

func (o *options) path(file string) string { return filepath.Join(o.root, file) }

func parse(args []string) (*options, error) {
	o := &options{workload: results.Workload{Shape: spans.XTuner}}
	w := &o.workload
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&o.root, "root", ".", "root of the repository")
	f.StringVar(&o.binary, "bin", "bin/otelcol-runspan", "the collector, from the root")
	f.StringVar(&o.dir, "dir", "", "where collectors write (default: the system's temporary folder); emptied after each round")
	only := f.String("only", "", "contenders, comma-separated (default: all): "+strings.Join(names(), ", "))
	f.IntVar(&w.Spans, "spans", 200_000, "spans a round for each contender")
	f.IntVar(&w.WarmUp, "warmup", 20_000, "spans before each round that are not measured")
	f.IntVar(&w.Rounds, "rounds", 8, "rounds; with fewer than 8 the spread is less than a 99 % interval")
	f.IntVar(&w.Slices, "slices", 10, "turns that each contender takes in a round")
	f.IntVar(&w.Clients, "clients", 4, "clients, each with one connection and one request under way")
	f.IntVar(&w.Shape.Spans, "request-spans", w.Shape.Spans, "spans in a request")
	f.IntVar(&w.Attributes, "attributes", w.Attributes, "attributes of a span")
	f.IntVar(&w.Runs, "runs", w.Runs, "runs that the spans are of")
	naming := f.String("run-named-on", string(w.Naming), "resource, spans, or mixed: spans of many runs in one request")
	f.Float64Var(&w.Rate, "rate", 20_000, "spans a second at which latency is measured after each round; 0: not")
	f.Float64Var(&w.RateSeconds, "rate-seconds", 1, "how long, in each round")
	f.IntVar(&o.processorRounds, "processor-rounds", 10, "rounds of the comparison of processors alone; 0: none")
	curves := f.String("curves", "", "measure only how cost grows: \"all\", or some of "+strings.Join(measure.Axes(), ", "))
	f.BoolVar(&o.delivery, "delivery", false, "measure only latencies at half of the top rate: without a reading pipeline, and with a backend that is well, dead or blackholed")
	f.BoolVar(&o.sync, "sync", false, "measure only durability: write and sync with 16 clients, and an fsync for each request")
	f.BoolVar(&o.catalogue, "catalogue", false, "measure only the catalogue of runs; its file is kept in $RUNSPAN_CACHE, or else made anew each time")
	f.IntVar(&o.catalogueSize.Spans, "catalogue-spans", 10_000_000, "spans of that file; 10,000,000 are 9 GB")
	f.IntVar(&o.catalogueSize.Runs, "catalogue-runs", 200, "runs of that file")
	f.IntVar(&o.catalogueRounds, "catalogue-rounds", 3, "rounds of that")
	f.StringVar(&o.jsonFile, "json", "", "file to write the results to; parts not measured now stay as they are in it")
	f.BoolVar(&o.check, "check", false, "measure what "+limitsFile+" limits, and fail where a limit is missed")
	f.BoolVar(&o.record, "record", false, "like -check, but write what was measured to "+limitsFile)
	f.BoolVar(&o.docs, "docs", false, "measure nothing: write "+docsFile+" from "+resultsFile)
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: all settings are flags, see -h", f.Arg(0))
	}
	w.Naming = spans.Naming(*naming)
	o.curves = list(*curves)
	if *curves == "all" {
		o.curves = measure.Axes()
	}
	var err error
	if o.contenders, err = contender.Find(list(*only)); err != nil {
		return nil, fmt.Errorf("-only: %w", err)
	}
	return o, o.validate()
}

func (o *options) validate() error {
	w := o.workload
	if err := w.Check(); err != nil {
		return err
	}
	for name, n := range map[string]int{
		"spans": w.Spans, "warmup": w.WarmUp, "rounds": w.Rounds, "slices": w.Slices, "clients": w.Clients,
		"catalogue-spans": o.catalogueSize.Spans, "catalogue-runs": o.catalogueSize.Runs, "catalogue-rounds": o.catalogueRounds,
	} {
		if n < 1 {
			return fmt.Errorf("-%s %d: must be at least 1", name, n)
		}
	}
	if w.Rate < 0 || w.RateSeconds < 0 || o.processorRounds < 0 {
		return fmt.Errorf("-rate %g, -rate-seconds %g, -processor-rounds %d: none may be negative",
			w.Rate, w.RateSeconds, o.processorRounds)
	}
	return nil
}

// list splits a comma-separated flag; an empty one is no names.
func list(flag string) []string {
	return slices.DeleteFunc(strings.Split(flag, ","), func(s string) bool { return s == "" })
}

func names() []string {
	all := make([]string, len(contender.All))
	for i, c := range contender.All {
		all[i] = c.Name
	}
	return all
}
