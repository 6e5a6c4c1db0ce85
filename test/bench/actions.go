package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/runspan/runspan/test/bench/internal/catalogue"
	"github.com/runspan/runspan/test/bench/internal/contender"
	"github.com/runspan/runspan/test/bench/internal/limits"
	"github.com/runspan/runspan/test/bench/internal/measure"
	"github.com/runspan/runspan/test/bench/internal/micro"
	"github.com/runspan/runspan/test/bench/internal/process"
	"github.com/runspan/runspan/test/bench/internal/procstat"
	"github.com/runspan/runspan/test/bench/internal/report"
	"github.com/runspan/runspan/test/bench/internal/results"
)

// processorSlices is how many turns each side takes in a round of the processors alone.
const processorSlices = 80

// checkedCatalogue is the file on which the limits of the catalogue are checked: 200 MB, some seconds.
var checkedCatalogue = catalogue.Size{Spans: 200_000, Runs: 200}

const checkedCatalogueRounds = 8

// curveContenders are the lines of the curves.
var curveContenders = []string{contender.Nop, "run_id", contender.Stock}

func measureAll(ctx context.Context, o *options) error {
	measured, err := measureParts(ctx, o)
	if err != nil {
		return err
	}
	fmt.Print(report.Tables(measured))
	if o.jsonFile == "" {
		return nil
	}
	return results.Update(o.jsonFile, measured)
}

func measureParts(ctx context.Context, o *options) (results.Results, error) {
	var measured results.Results
	if o.dir == "" {
		o.dir = os.TempDir()
	}
	machine, err := procstat.Describe(o.path(o.binary), o.dir)
	if err != nil {
		return measured, err
	}
	taken := results.Now(machine)
	runner := &measure.Runner{
		Files: process.Files{Binary: o.path(o.binary), Configs: o.path(configsDir)},
		Dir:   o.dir,
		Log:   func(line string) { fmt.Fprintln(os.Stderr, line) },
	}
	if len(o.curves) > 0 {
		some, err := contender.Find(curveContenders)
		if err != nil {
			return measured, err
		}
		o.workload.Rate, o.workload.RateSeconds = 0, 0
		measured.Curves, err = runner.Curves(ctx, taken, o.workload, some, o.curves)
		return measured, err
	}
	if o.delivery {
		measured.Delivery, err = runner.Delivery(ctx, taken, o.workload)
		return measured, err
	}
	if o.sync {
		measured.Sync, err = runner.Sync(ctx, taken, o.workload)
		return measured, err
	}
	if o.catalogue {
		measured.Catalogue, err = measureCatalogue(ctx, o, taken, o.catalogueSize, o.catalogueRounds)
		return measured, err
	}
	if o.processorRounds > 0 {
		measured.Processors, err = micro.Processors(ctx, taken, o.path(configsDir), o.processorRounds, processorSlices)
		if err != nil {
			return measured, err
		}
	}
	measured.Whole, err = runner.Whole(ctx, taken, o.workload, o.contenders)
	return measured, err
}

// measureCatalogue measures the catalogue over a file that is kept for the next time in $RUNSPAN_CACHE, where
// that is set.
func measureCatalogue(ctx context.Context, o *options, taken results.Taken, size catalogue.Size, rounds int) (*results.Catalogue, error) {
	dir := os.Getenv("RUNSPAN_CACHE")
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp(o.dir, "bench-catalogue-"); err != nil {
			return nil, err
		}
		defer func() { _ = os.RemoveAll(dir) }() // it is in the temporary folder
	} else if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return catalogue.Measure(ctx, taken, size, rounds, dir, func(line string) { fmt.Fprintln(os.Stderr, line) })
}

// check measures what the limits are about, and compares or records it.
func check(ctx context.Context, o *options) error {
	all, err := limits.Read(o.path(limitsFile))
	if err != nil {
		return err
	}
	o.contenders = slices.DeleteFunc(slices.Clone(o.contenders), func(c contender.Contender) bool {
		return c.Name != contender.Nop && !slices.ContainsFunc(all, func(l limits.Limit) bool { return about(l, c.Name) })
	})
	o.workload.Rate = 0
	measured, err := measureParts(ctx, o)
	if err != nil {
		return err
	}
	if measured.Catalogue, err = measureCatalogue(ctx, o, results.Taken{}, checkedCatalogue, checkedCatalogueRounds); err != nil {
		return err
	}
	fmt.Print(report.Tables(measured))
	verdicts, err := limits.Check(all, measured)
	if err != nil {
		return err
	}
	fmt.Print(report.Verdicts(verdicts))
	if o.record {
		return limits.Record(o.path(limitsFile), verdicts)
	}
	var missed []error
	for _, v := range verdicts {
		if v.Missed {
			missed = append(missed, fmt.Errorf("limit missed: %s: %s", v.Ratio, v.Why))
		}
	}
	return errors.Join(missed...)
}

// about reports whether a limit's ratio, such as "cpu run_id/nop", is of the named contender.
func about(l limits.Limit, name string) bool {
	return strings.Contains(l.Ratio, " "+name+"/") || strings.HasSuffix(l.Ratio, "/"+name)
}

func writeDocs(o *options) error {
	recorded, err := results.Read(o.path(resultsFile))
	if err != nil {
		return fmt.Errorf("%w: measure first, with -json %s", err, resultsFile)
	}
	root, err := os.OpenRoot(o.root)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	reading, err := root.ReadFile(readingFile)
	if err != nil {
		return err
	}
	page, err := report.Page(recorded, string(reading))
	if err != nil {
		return err
	}
	if err := root.WriteFile(docsFile, page, 0o644); err != nil {
		return err
	}
	return root.WriteFile(pictureFile, report.Picture(recorded.Curves), 0o644)
}
