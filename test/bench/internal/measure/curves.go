package measure

import (
	"context"
	"fmt"
	"slices"

	"github.com/runspan/runspan/test/bench/internal/contender"
	"github.com/runspan/runspan/test/bench/internal/results"
	"github.com/runspan/runspan/test/bench/internal/spans"
	"github.com/runspan/runspan/test/bench/internal/stats"
)

// axis is one thing that grows while all else stays.
type axis struct {
	name string
	x    []float64
	set  func(w *results.Workload, x int)
}

// Axes along which cost is measured. The runs have two: whether a request is of one run (each
// producer sends its own) or of many (something in front batches them) are two questions.
var axes = []axis{
	{"runs", []float64{1, 10, 100, 1000, 10000}, func(w *results.Workload, x int) { w.Runs = x }},
	{"mixed runs", []float64{1, 10, 100, 1000, 10000}, func(w *results.Workload, x int) { w.Runs, w.Naming = x, spans.Mixed }},
	{"spans a request", []float64{1, 3, 10, 30, 100, 300, 1000}, func(w *results.Workload, x int) { w.Shape.Spans = x }},
	{"clients", []float64{1, 2, 4, 8, 16, 32, 64}, func(w *results.Workload, x int) { w.Clients = x }},
	{"attributes a span", []float64{1, 3, 9, 20, 50}, func(w *results.Workload, x int) { w.Attributes = x }},
}

// Axes returns the names of the axes.
func Axes() []string {
	names := make([]string, len(axes))
	for i, a := range axes {
		names[i] = a.name
	}
	return names
}

// maxRequests bounds a round where requests are small: 6,000 of them cost a second of CPU, and say
// as much as more would.
const maxRequests = 6000

// Curves measures the named axes, all else as in the workload w.
func (r *Runner) Curves(
	ctx context.Context, taken results.Taken, w results.Workload, contenders []contender.Contender, names []string,
) ([]results.Curve, error) {
	for _, name := range names {
		if !slices.Contains(Axes(), name) {
			return nil, fmt.Errorf("no curve %q: choose from %q", name, Axes())
		}
	}
	var curves []results.Curve
	for _, a := range axes {
		if !slices.Contains(names, a.name) {
			continue
		}
		curve, err := r.curve(ctx, w, contenders, a)
		if err != nil {
			return nil, fmt.Errorf("curve %s: %w", a.name, err)
		}
		curve.Taken = taken
		curves = append(curves, curve)
	}
	return curves, nil
}

// curve measures all points in each round: what changes on the machine between the first round and
// the last then widens the spread of all points, and bends no curve.
func (r *Runner) curve(
	ctx context.Context, w results.Workload, contenders []contender.Contender, a axis,
) (results.Curve, error) {
	curve := results.Curve{Axis: a.name, Workload: w, X: a.x}
	points := make([]results.Workload, len(a.x))
	for i, x := range a.x {
		points[i] = w
		a.set(&points[i], int(x))
		points[i].Spans = min(w.Spans, maxRequests*points[i].Shape.Spans)
		var err error
		if points[i].RequestBytes, err = requestBytes(points[i].Shape); err != nil {
			return curve, err
		}
	}
	measured := make([][]samples, len(points))
	for i := range measured {
		measured[i] = make([]samples, len(contenders))
	}
	for round := range w.Rounds {
		for i, point := range points {
			if err := r.round(ctx, point, round, contenders, measured[i]); err != nil {
				return curve, fmt.Errorf("round %d at %.0f: %w", round+1, a.x[i], err)
			}
		}
		r.Log(fmt.Sprintf("curve %s: round %d of %d", a.name, round+1, w.Rounds))
	}
	for k, c := range contenders {
		series := results.Series{Name: c.Name}
		for i := range points {
			series.CPU = append(series.CPU, stats.Summarize(measured[i][k].cpu))
		}
		curve.Series = append(curve.Series, series)
	}
	return curve, nil
}
