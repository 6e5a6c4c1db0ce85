package tracefile

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
)

// ErrLoop says that the spans of a reader would be written to the file that it reads.
var ErrLoop = errors.New("the pipeline feeds the file that it reads")

// tailMark is the key under which a context carries the patterns of the reader whose spans it brings.
type tailMark struct{}

// WithTail marks a context as that of spans which were read from the files that include names. A
// writer further down the pipeline asks CheckLoop.
func WithTail(ctx context.Context, include []string) context.Context {
	return context.WithValue(ctx, tailMark{}, include)
}

// CheckLoop returns an error that is ErrLoop when the spans of ctx were read from the file path, or
// from one beside it that the same reader reads. A writer must refuse them for good: each span would
// be read, written and read again until the disk is full.
func CheckLoop(ctx context.Context, path string) error {
	include, ok := ctx.Value(tailMark{}).([]string)
	if ok && tailCovers(include, path) {
		return fmt.Errorf("%w: %s: give the reading pipeline another exporter, or the file another name", ErrLoop, path)
	}
	return nil
}

// tailCovers reports whether a path, or the log that it is a segment of, is one that include names.
func tailCovers(include []string, path string) bool {
	path = tailResolve(path)
	for _, pattern := range include {
		pattern = tailResolve(pattern)
		for _, name := range []string{path, tailOrderOf(path).log} {
			if ok, err := filepath.Match(pattern, name); ok && err == nil {
				return true
			}
		}
	}
	return false
}

// tailResolve returns the absolute path without symbolic links where its folder exists.
func tailResolve(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	return path
}

var tailWriters = struct {
	sync.Mutex
	paths map[string]string // by the name of the writer
}{paths: map[string]string{}}

// RegisterWriter notes that the component of this process named writer writes to path. It returns
// a function that takes the note back.
func RegisterWriter(writer, path string) (unregister func()) {
	tailWriters.Lock()
	defer tailWriters.Unlock()
	tailWriters.paths[writer] = path
	return func() {
		tailWriters.Lock()
		defer tailWriters.Unlock()
		delete(tailWriters.paths, writer)
	}
}

// WriterFeeds reports whether the component named writer writes a file that include names.
func WriterFeeds(writer string, include []string) bool {
	tailWriters.Lock()
	path, ok := tailWriters.paths[writer]
	tailWriters.Unlock()
	return ok && tailCovers(include, path)
}
