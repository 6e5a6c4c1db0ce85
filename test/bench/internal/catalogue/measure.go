package catalogue

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/runspan/runspan/test/bench/internal/results"
	"github.com/runspan/runspan/test/bench/internal/stats"
)

//go:embed usual.py
var usual string

// mostUsualBytes bounds what the usual way reads of a file: its pace does not depend on more.
const mostUsualBytes = 512 << 20

// oneTraceSpans are in the large trace.
const oneTraceSpans = 100_000

// Measure measures everything about the catalogue of a file of this size in dir.
func Measure(ctx context.Context, taken results.Taken, size Size, rounds int, dir string, log func(string)) (*results.Catalogue, error) {
	log(fmt.Sprintf("making a file of %d spans, where it is not there", size.Spans))
	own, err := size.Own(dir)
	if err != nil {
		return nil, err
	}
	foreign, err := size.Foreign(dir)
	if err != nil {
		return nil, err
	}
	oneTrace, err := Size{Spans: oneTraceSpans, Runs: 1}.Trace(dir)
	if err != nil {
		return nil, err
	}
	m := measurement{size: size, dir: dir, figures: map[string][]float64{}}
	for round := range rounds {
		log(fmt.Sprintf("round %d of %d", round+1, rounds))
		if err := m.round(ctx, own, foreign, oneTrace); err != nil {
			return nil, err
		}
	}
	f := func(name string) stats.Summary { return stats.Summarize(m.figures[name]) }
	ratio := func(name, one, other string) results.Ratio {
		return results.Ratio{Name: name, Summary: stats.Summarize(stats.Ratios(m.figures[one], m.figures[other]))}
	}
	return &results.Catalogue{
		Taken: taken, Spans: size.Spans, Runs: size.Runs, Bytes: m.bytes, Rounds: rounds,
		Own: f("own"), Foreign: f("foreign"), Usual: f("usual"),
		Memory: f("memory"), Restart: f("restart"), Append: f("append"), SlowestAppend: f("slowest"),
		OpenSpans: m.openSpans, Open: f("open"), TraceSpans: oneTraceSpans, Trace: f("trace"), TraceBytes: m.traceBytes,
		Ratios: []results.Ratio{
			ratio("catalogue cpu own/usual", "own cpu", "usual cpu"),
			ratio("catalogue cpu foreign/own", "foreign cpu", "own cpu"),
		},
	}, nil
}

type measurement struct {
	size  Size
	dir   string
	bytes int64
	// of the run that was opened, and of the answer on the trace
	openSpans, traceBytes int64
	figures               map[string][]float64
}

func (m *measurement) add(name string, value float64) {
	m.figures[name] = append(m.figures[name], value)
}

// speed notes megabytes a second, and CPU nanoseconds a byte for the ratios: other work on the machine
// disturbs these less.
func (m *measurement) speed(name string, out Outcome) {
	m.add(name, float64(out.Bytes)/1e6/out.Seconds)
	m.add(name+" cpu", out.CPU*1e9/float64(out.Bytes))
}

func (m *measurement) round(ctx context.Context, own, foreign, oneTrace string) error {
	cache, err := os.MkdirTemp(m.dir, "catalogue-cache-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(cache) }() // some MB
	for _, path := range []string{own, foreign} {
		if err := warm(path); err != nil {
			return err
		}
	}
	out, err := step(ctx, Step{File: own, CacheDir: cache, Size: m.size})
	if err != nil {
		return err
	}
	perRequest := m.size.shape().Spans
	if want := int64(m.size.requests() * perRequest); out.Spans != want || out.Runs != min(m.size.Runs, m.size.requests()) ||
		out.Traces != want/4 {
		return fmt.Errorf("%s: %d spans, %d traces, %d runs found of %d spans", own, out.Spans, out.Traces, out.Runs, want)
	}
	m.bytes = out.Bytes
	m.speed("own", out)
	m.add("memory", float64(out.PeakBytes)/(1<<20))
	if out, err = step(ctx, Step{File: own, CacheDir: cache, Size: m.size, Appends: 20, Ask: true}); err != nil {
		return err
	}
	m.add("restart", out.Seconds*1e3)
	appended := stats.Summarize(out.Appended)
	m.add("append", appended.Median*1e3)
	slowest := 0.0
	for _, seconds := range out.Appended {
		slowest = max(slowest, seconds)
	}
	m.add("slowest", slowest*1e3)
	m.openSpans = out.Answers.RunSpans
	m.add("open", out.Answers.RunSeconds*1e3)
	if out, err = step(ctx, Step{File: oneTrace, Size: m.size, Ask: true}); err != nil {
		return err
	}
	if out.Answers.TraceSpans != oneTraceSpans {
		return fmt.Errorf("%s: a trace of %d spans was answered, of %d", oneTrace, out.Answers.TraceSpans, oneTraceSpans)
	}
	m.traceBytes = int64(out.Answers.TraceBytes)
	m.add("trace", out.Answers.TraceSeconds*1e3)
	if out, err = step(ctx, Step{File: foreign, Size: m.size}); err != nil {
		return err
	}
	m.speed("foreign", out)
	if out, err = usualWay(ctx, own); err != nil {
		return err
	}
	m.speed("usual", out)
	return nil
}

// warm reads a file, so that it is in the page cache as far as that has room.
func warm(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = bytes.NewBuffer(make([]byte, 0, 1<<20)).ReadFrom(nothing{file})
	return err
}

// nothing reads a file and hands out none of it.
type nothing struct{ file *os.File }

func (n nothing) Read(p []byte) (int, error) {
	for {
		if _, err := n.file.Read(p); err != nil {
			return 0, err
		}
	}
}

// step does a step in a process of its own, on one core.
func step(ctx context.Context, s Step) (out Outcome, err error) {
	text, err := json.Marshal(s)
	if err != nil {
		return out, err
	}
	program, err := os.Executable()
	if err != nil {
		return out, err
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), StepVariable+"="+string(text), "GOMAXPROCS=1")
	return outcome(cmd)
}

func usualWay(ctx context.Context, path string) (Outcome, error) {
	script := filepath.Join(filepath.Dir(path), "usual.py")
	if err := os.WriteFile(script, []byte(usual), 0o600); err != nil {
		return Outcome{}, err
	}
	defer func() { _ = os.Remove(script) }() // some KB
	return outcome(exec.CommandContext(ctx, "python3", script, path, strconv.Itoa(mostUsualBytes)))
}

func outcome(cmd *exec.Cmd) (out Outcome, err error) {
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%s: %w", filepath.Base(cmd.Path), err)
	}
	return out, json.Unmarshal(text, &out)
}
