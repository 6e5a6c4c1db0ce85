package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/runspan/runspan/internal/tracefile"
)

// follower reads what is added to the trace file.
type follower struct {
	path string
	tail *tracefile.Tail
	size int64 // before the span was sent, -1 for no file
}

// openFile begins to follow the trace file at its end, nil without one.
func (v *visit) openFile() *follower {
	if v.TraceFile == "" {
		return nil
	}
	template, err := tracefile.ParsePathTemplate(v.TraceFile)
	if err != nil {
		return nil // check has refused it
	}
	f := &follower{path: template.Expand(tracefile.PathValues{Run: v.span.run, Service: Service})}
	include := f.path
	if plain, err := tracefile.ParsePathTemplate(f.path); err == nil {
		include = plain.Glob() // signs of a pattern in the name are no pattern
	}
	f.size = fileSize(f.path)
	f.tail = tracefile.NewTail(tracefile.TailSettings{Include: []string{include}, StartAtEnd: true})
	f.tail.Begin()
	return f
}

func (f *follower) close() {
	if f != nil {
		f.tail.Close()
	}
}

// lookInFile waits until the span is in the file.
func (v *visit) lookInFile(ctx context.Context, f *follower) Place {
	began := time.Now()
	for {
		batch, err := f.tail.Next(ctx)
		if err != nil {
			return v.notInFile(f)
		}
		at, run, service, found := v.findSpan(batch)
		batch.Delivered()
		path := batch.Path
		batch.Release()
		switch {
		case !found:
		case run != v.span.run || service != Service:
			return wrong("file", fileChanged, fmt.Sprintf("%s has the span at byte %d under run %q and service %q; it was sent under run %q and service %q",
				path, at, run, service, v.span.run, Service), "endpoint", v.target.endpoint)
		default:
			return seen("file", OK, fmt.Sprintf("%s has the span at byte %d, %s after the endpoint took it", path, at, short(time.Since(began))))
		}
	}
}

// findSpan looks for the span in the lines of a batch.
func (v *visit) findSpan(batch *tracefile.TailBatch) (at int64, run, service string, found bool) {
	at = batch.Start
	var decoder tracefile.Decoder
	for line := range bytes.Lines(batch.Data) {
		// A busy file has megabytes a second of other lines.
		if bytes.Contains(line, []byte(v.span.run)) || bytes.Contains(line, []byte(v.span.traceID())) {
			td := ptrace.NewTraces()
			if _, err := decoder.Append(td.ResourceSpans(), line); err == nil {
				for span := range tracefile.SpansOf(td) {
					if span.TraceID() == v.span.trace && span.SpanID() == v.span.span {
						return at, strings.Clone(span.Run), strings.Clone(span.Service), true
					}
				}
			}
		}
		at += int64(len(line))
	}
	return 0, "", "", false
}

// notInFile tells why the span is not in the file.
func (v *visit) notInFile(f *follower) Place {
	values := []string{"file", v.TraceFile, "endpoint", v.target.endpoint}
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return wrong("file", fileMissing, f.path+" does not exist here", values...)
	case err != nil:
		return wrong("file", fileUnreadable, f.path+": "+reason(err), values...)
	case info.IsDir():
		return wrong("file", fileUnreadable, f.path+" is a folder", values...)
	}
	file, err := os.Open(f.path)
	if err != nil {
		return wrong("file", fileUnreadable, f.path+": "+reason(err), values...)
	}
	_ = file.Close() // it was only opened
	what := fmt.Sprintf("%s did not get the span within %s", f.path, v.Timeout)
	// Where locks are not supported nothing is known of a writer.
	writer, _ := tracefile.Writer(f.path)
	switch {
	case writer != "":
		return wrong("file", fileNotSame, fmt.Sprintf("%s; it is written by another collector than the endpoint's, or by one that drops the span (%s)", what, writer), values...)
	case info.Size() != f.size:
		return wrong("file", fileNotSame, what+"; it got other lines: another collector than the endpoint's writes it, or one that drops the span", values...)
	}
	return wrong("file", fileNotWritten, fmt.Sprintf("%s; nobody writes it, the last time at %s", what, info.ModTime().UTC().Format("2006-01-02 15:04:05 UTC")), values...)
}

// fileSize returns the size of a file, -1 when there is none.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return -1
	}
	return info.Size()
}
