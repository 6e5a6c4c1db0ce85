// Package catalogue measures the catalogue of runs over a large trace file, beside the usual way to know
// what is in one: a program that parses every line.
package catalogue

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/runspan/runspan/internal/tracefile"
	"github.com/runspan/runspan/test/bench/internal/spans"
)

// Size says how large the file is.
type Size struct {
	Spans int
	Runs  int
}

// shape is XTuner's, of so many runs.
func (s Size) shape() spans.Shape {
	shape := spans.XTuner
	shape.Runs = s.Runs
	return shape
}

// pods is how many pods send the spans of a run.
const pods = 8

// lines calls each for the lines of a file, as run_file writes them behind run_id: the run and the service
// stand on each span too.
func (s Size) lines(from, requests int, each func(line []byte) error) error {
	return s.traces(from, requests, func(td ptrace.Traces) []byte { return append(tracefile.AppendTraces(nil, td), '\n') }, each)
}

// traces calls each for what encode makes of each request.
func (s Size) traces(from, requests int, encode func(ptrace.Traces) []byte, each func(line []byte) error) error {
	template, err := spans.New(s.shape())
	if err != nil {
		return err
	}
	for seq := from; seq < from+requests; seq++ {
		request := ptraceotlp.NewExportRequest()
		if err := request.UnmarshalProto(template.Stamp(uint64(seq))); err != nil {
			return err
		}
		td := request.Traces()
		tag(td, seq)
		if err := each(encode(td)); err != nil {
			return err
		}
	}
	return nil
}

// tag puts on the spans what run_id does, and on the resource what a pod does.
func tag(td ptrace.Traces, seq int) {
	for _, rs := range td.ResourceSpans().All() {
		resource := rs.Resource().Attributes()
		resource.PutStr("k8s.pod.name", "rollout-"+strconv.Itoa(seq%pods))
		run, _ := resource.Get("run.id")
		service, _ := resource.Get("service.name")
		for _, ss := range rs.ScopeSpans().All() {
			for i, span := range ss.Spans().All() {
				span.Attributes().PutStr("service.name", service.Str())
				span.Attributes().PutStr("run.id", run.Str())
				if i%50 == 49 {
					span.Status().SetCode(ptrace.StatusCodeError)
				}
			}
		}
	}
}

func (s Size) requests() int { return s.Spans / s.shape().Spans }

// Own makes the file as run_file writes it, or finds the one of an earlier time.
func (s Size) Own(dir string) (path string, err error) {
	path = filepath.Join(dir, fmt.Sprintf("catalogue-%d-%d.jsonl", s.Spans, s.Runs))
	return path, s.make(path, s.requests(), func(line []byte) ([]byte, error) { return line, nil })
}

// Foreign makes a file of a tenth of the spans as another program may write it: keys in another order,
// white space as Python's json writes it.
func (s Size) Foreign(dir string) (path string, err error) {
	path = filepath.Join(dir, fmt.Sprintf("catalogue-%d-%d-foreign.jsonl", s.Spans, s.Runs))
	return path, s.make(path, max(1, s.requests()/10), foreign)
}

// Trace makes a file in which all spans are of one trace.
func (s Size) Trace(dir string) (path string, err error) {
	path = filepath.Join(dir, fmt.Sprintf("catalogue-%d-one-trace.jsonl", s.Spans))
	return path, makeFile(path, func(write func([]byte) error) error {
		return s.traces(0, s.requests(), func(td ptrace.Traces) []byte {
			for _, rs := range td.ResourceSpans().All() {
				for _, ss := range rs.ScopeSpans().All() {
					for _, span := range ss.Spans().All() {
						span.SetTraceID(pcommon.TraceID{15: 1})
					}
				}
			}
			return append(tracefile.AppendTraces(nil, td), '\n')
		}, write)
	})
}

func (s Size) make(path string, requests int, form func([]byte) ([]byte, error)) error {
	return makeFile(path, func(write func([]byte) error) error {
		return s.lines(0, requests, func(line []byte) error {
			line, err := form(line)
			if err != nil {
				return err
			}
			return write(line)
		})
	})
}

// makeFile makes a file, unless it is there.
func makeFile(path string, fill func(write func([]byte) error) error) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.Create(path + ".new")
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(file, 1<<20)
	err = fill(func(line []byte) error {
		_, err := out.Write(line)
		return err
	})
	if err = errors.Join(err, out.Flush(), file.Close()); err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return os.Rename(file.Name(), path)
}

// foreign writes a line anew.
func foreign(line []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	var object any
	if err := decoder.Decode(&object); err != nil {
		return nil, err
	}
	out, err := appendForeign(nil, object)
	return append(out, '\n'), err
}

func appendForeign(out []byte, value any) ([]byte, error) {
	var err error
	switch value := value.(type) {
	case map[string]any:
		keys := make([]string, 0, len(value))
		for key := range value {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		out = append(out, '{')
		for i, key := range keys {
			if i > 0 {
				out = append(out, ", "...)
			}
			out = append(strconv.AppendQuote(out, key), ": "...)
			if out, err = appendForeign(out, value[key]); err != nil {
				return out, err
			}
		}
		return append(out, '}'), nil
	case []any:
		out = append(out, '[')
		for i, item := range value {
			if i > 0 {
				out = append(out, ", "...)
			}
			if out, err = appendForeign(out, item); err != nil {
				return out, err
			}
		}
		return append(out, ']'), nil
	default:
		text, err := json.Marshal(value)
		return append(out, text...), err
	}
}
