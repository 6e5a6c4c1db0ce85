// Package results is the record of a benchmark run: what is printed, kept as JSON, checked against
// the limits and written to the docs.
package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/runspan/runspan/test/bench/internal/procstat"
	"github.com/runspan/runspan/test/bench/internal/spans"
	"github.com/runspan/runspan/test/bench/internal/stats"
)

// Results holds the parts of a benchmark. Each part is measured in one go, and may be measured at
// another time than the others; nil is a part that was not measured.
type Results struct {
	Whole      *Whole      `json:"whole,omitempty"`
	Delivery   *Whole      `json:"delivery,omitempty"` // at a fixed rate, with and without a backend
	Sync       *Whole      `json:"sync,omitempty"`     // durabilities, with many clients
	Processors *Processors `json:"processors,omitempty"`
	Curves     []Curve     `json:"curves,omitempty"`
	Catalogue  *Catalogue  `json:"catalogue,omitempty"`
}

// Taken says when and where a part was measured.
type Taken struct {
	Date    string           `json:"date"` // UTC, YYYY-MM-DD
	Machine procstat.Machine `json:"machine"`
}

// Now is the Taken of a part that is being measured on machine.
func Now(machine procstat.Machine) Taken {
	return Taken{Date: time.Now().UTC().Format(time.DateOnly), Machine: machine}
}

// Whole is the comparison of whole collectors.
type Whole struct {
	Taken
	Workload
	Contenders []Contender `json:"contenders"`
	Ratios     []Ratio     `json:"ratios"`
}

// Workload is what each contender was given.
type Workload struct {
	spans.Shape
	Spans        int     `json:"spans_per_round"`
	WarmUp       int     `json:"spans_before_each_round"`
	Rounds       int     `json:"rounds"`
	Slices       int     `json:"slices_per_round"`
	Clients      int     `json:"clients"`
	RequestBytes int     `json:"request_bytes"`
	Rate         float64 `json:"spans_per_second_at_fixed_rate,omitempty"`
	RateSeconds  float64 `json:"seconds_at_fixed_rate,omitempty"`
}

// Contender is what one contender needed.
type Contender struct {
	Name   string        `json:"name"`
	What   string        `json:"what"`
	CPU    stats.Summary `json:"cpu_us_per_span"`
	Memory stats.Summary `json:"peak_memory_mib"`
	// Throughput is what the clients were told was taken, while they sent as fast as they could.
	Throughput stats.Summary `json:"spans_per_second"`
	// Latency at a fixed rate, nil where none was measured.
	Latency *Latency `json:"latency_ms,omitempty"`
}

// Latency is how long requests took at a fixed rate, from when they should have been sent to their
// acknowledgement, in milliseconds.
type Latency struct {
	Requests int           `json:"requests"` // of all rounds
	P50      stats.Summary `json:"p50"`
	P90      stats.Summary `json:"p90"`
	P99      stats.Summary `json:"p99"`
	Max      stats.Summary `json:"max"`
}

// Ratio compares two figures that were measured side by side in each round.
type Ratio struct {
	// Name is unique, for example "cpu run_id/nop".
	Name string `json:"name"`
	stats.Summary
}

// Processors is the comparison of processors alone, in one process without a collector.
type Processors struct {
	Taken
	Rounds int      `json:"rounds"`
	Spans  int      `json:"spans_per_round"`
	Cases  []Case   `json:"cases"`
	Ratios []Ratio  `json:"ratios"`
	Pair   []string `json:"stock_processors"` // in their order
}

// Case is what the processors cost for one way of naming runs.
type Case struct {
	spans.Shape
	RunID Cost `json:"run_id"`
	Stock Cost `json:"stock"`
}

// Cost of a processor a span.
type Cost struct {
	CPU   stats.Summary `json:"cpu_ns_per_span"`
	Bytes stats.Summary `json:"allocated_bytes_per_span"`
}

// Curve shows how cost grows along one axis.
type Curve struct {
	Taken
	Workload
	Axis   string    `json:"axis"`
	X      []float64 `json:"x"`
	Series []Series  `json:"series"`
}

// Series is the cost of one contender along a curve, in CPU microseconds a span, one value for each X.
type Series struct {
	Name string          `json:"name"`
	CPU  []stats.Summary `json:"cpu_us_per_span"`
}

// Catalogue is how the catalogue of runs knows a file, beside the usual way.
type Catalogue struct {
	Taken
	Spans  int   `json:"spans"`
	Runs   int   `json:"runs"`
	Bytes  int64 `json:"bytes"`
	Rounds int   `json:"rounds"`
	// On one core, from a warm page cache: lines as run_file writes them, those of another writer, and a
	// Python program that parses every line.
	Own     stats.Summary `json:"own_mb_per_second"`
	Foreign stats.Summary `json:"foreign_mb_per_second"`
	Usual   stats.Summary `json:"usual_mb_per_second"`
	// Memory is the peak of the process, with the cache that it writes.
	Memory  stats.Summary `json:"peak_memory_mib"`
	Restart stats.Summary `json:"restart_with_cache_ms"`
	// Append is from the write of 1,000 spans until the counts are right again: the median of a round, and
	// its slowest.
	Append        stats.Summary `json:"append_ms"`
	SlowestAppend stats.Summary `json:"slowest_append_ms"`
	// Open is how long the API takes for the summary of a run of OpenSpans that it has not opened yet, and
	// Trace for a trace of TraceSpans, whose answer has TraceBytes.
	OpenSpans  int64         `json:"open_spans"`
	Open       stats.Summary `json:"open_ms"`
	TraceSpans int64         `json:"trace_spans"`
	Trace      stats.Summary `json:"trace_ms"`
	TraceBytes int64         `json:"trace_bytes"`
	Ratios     []Ratio       `json:"ratios"`
}

// AllRatios returns the ratios of all parts by name.
func (r *Results) AllRatios() map[string]Ratio {
	all := map[string]Ratio{}
	for _, whole := range []*Whole{r.Whole, r.Delivery, r.Sync} {
		if whole == nil {
			continue
		}
		for _, ratio := range whole.Ratios {
			all[ratio.Name] = ratio
		}
	}
	if r.Processors != nil {
		for _, ratio := range r.Processors.Ratios {
			all[ratio.Name] = ratio
		}
	}
	if r.Catalogue != nil {
		for _, ratio := range r.Catalogue.Ratios {
			all[ratio.Name] = ratio
		}
	}
	return all
}

// Merge replaces the parts that newer has. A curve replaces the one of the same axis.
func (r *Results) Merge(newer Results) {
	if newer.Whole != nil {
		r.Whole = newer.Whole
	}
	if newer.Delivery != nil {
		r.Delivery = newer.Delivery
	}
	if newer.Sync != nil {
		r.Sync = newer.Sync
	}
	if newer.Processors != nil {
		r.Processors = newer.Processors
	}
	if newer.Catalogue != nil {
		r.Catalogue = newer.Catalogue
	}
next:
	for _, curve := range newer.Curves {
		for i := range r.Curves {
			if r.Curves[i].Axis == curve.Axis {
				r.Curves[i] = curve
				continue next
			}
		}
		r.Curves = append(r.Curves, curve)
	}
}

// Read returns the results in a file; no such file is an error.
func Read(path string) (Results, error) {
	var r Results
	data, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("results %q: %w: measure anew with -json on a new file", path, err)
	}
	return r, nil
}

// Update merges newer into the file at path, which is made if there is none.
func Update(path string, newer Results) error {
	r, err := Read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.Merge(newer)
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("results %q: %w", path, err)
	}
	return os.WriteFile(path, append(data, '\n'), 0o600)
}
