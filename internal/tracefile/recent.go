package tracefile

import (
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/xpdata/pref"
)

// A Tail in the process that writes the file gets the newest lines as the traces that they were made
// of: reading and decoding them again took a third of the whole collector's time. The file stays
// the log. What is kept here is bounded, is handed out only for a place at which the file has just
// been seen to hold the line, and is read from the file whenever it is not here.
// docs/adr/0010-readers-in-the-same-process.md has the figures.
const (
	// recentFileBytes bounds what is kept of one file, in bytes of its lines: 50 ms of a writer at
	// full speed. The traces take about twice as much.
	recentFileBytes = 8 << 20
	// recentBytes bounds all files of the process together.
	recentBytes = 32 << 20
	// recentWakeBytes is after how much a reader is woken. Below it, it comes by itself within its
	// poll interval, and many small requests go on as one batch.
	recentWakeBytes = 256 << 10
	// recentAloneBytes is the line from which on copying it into a batch costs more than sending it
	// as a batch of its own.
	recentAloneBytes = 64 << 10
)

// recentLines has a file for each Appender of the process.
type recentLines struct {
	mu    sync.Mutex // guards everything in all files, too
	files map[string]*recentFile
	bytes int64
}

var recent = recentLines{files: map[string]*recentFile{}}

// recentFile is what is remembered of the file that one Appender writes.
type recentFile struct {
	path    string
	info    os.FileInfo // the file that the offsets are of
	lines   []recentLine
	bytes   int64
	unwoken int64 // added since the readers were woken
	end     int64 // of the last line written
	// behind: the readers had not taken what had to go, and nothing is kept until one comes near the
	// end. While a backend is down it would be kept for nothing, and burden the garbage collector.
	behind  bool
	readers map[*recentReader]bool
	// followed is whether there are readers, for a look without the lock.
	followed atomic.Bool
}

type recentLine struct {
	start, end int64
	td         ptrace.Traces
	wanted     int // by so many readers
}

// recentReader is a Tail.
type recentReader struct{ wake chan struct{} }

// open returns the file at a path, for the Appender that writes it.
func (l *recentLines) open(path string) *recentFile {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := &recentFile{path: tailResolve(path), readers: map[*recentReader]bool{}}
	l.files[f.path] = f
	return f
}

func (l *recentLines) close(f *recentFile) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.forget(len(f.lines))
	if l.files[f.path] == f {
		delete(l.files, f.path)
	}
}

// find returns the file at a path, nil where no Appender of this process writes it.
func (l *recentLines) find(path string) *recentFile {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.files[path]
}

// begin forgets all lines: those that come are at the offsets of the file info.
func (f *recentFile) begin(info os.FileInfo) {
	recent.mu.Lock()
	defer recent.mu.Unlock()
	f.forget(len(f.lines))
	f.info, f.end, f.behind = info, 0, false
}

// forget drops the oldest n lines.
func (f *recentFile) forget(n int) {
	for _, line := range f.lines[:n] {
		f.bytes -= line.end - line.start
		recent.bytes -= line.end - line.start
		pref.UnrefTraces(line.td)
	}
	f.lines = slices.Delete(f.lines, 0, n)
}

// add remembers the line at [start, end), which is in the file. td must not change anymore.
func (f *recentFile) add(start, end int64, td ptrace.Traces) {
	recent.mu.Lock()
	defer recent.mu.Unlock()
	f.end = end
	if len(f.readers) == 0 || f.behind || recent.bytes+end-start > recentBytes {
		return
	}
	if f.bytes+end-start > recentFileBytes {
		f.forget(len(f.lines))
		f.behind = true
		return
	}
	pref.RefTraces(td)
	f.lines = append(f.lines, recentLine{start: start, end: end, td: td, wanted: len(f.readers)})
	f.bytes += end - start
	recent.bytes += end - start
	if f.unwoken += end - start; f.unwoken >= recentWakeBytes {
		f.unwoken = 0
		for reader := range f.readers {
			poke(reader.wake)
		}
	}
}

func (f *recentFile) join(r *recentReader) {
	recent.mu.Lock()
	defer recent.mu.Unlock()
	f.readers[r] = true
	f.followed.Store(true)
}

func (f *recentFile) leave(r *recentReader) {
	recent.mu.Lock()
	defer recent.mu.Unlock()
	delete(f.readers, r)
	f.followed.Store(len(f.readers) > 0)
	if len(f.readers) == 0 {
		f.forget(len(f.lines))
	}
}

// take returns the traces of the lines from offset on, and where they end: one line if it is long,
// otherwise several of at most `most` bytes together. There are none where the next line is not here, where
// info is of another file, or where the file ends before the line. Each Traces is read-only and
// must be given to pref.UnrefTraces in the end. A line over `longest` bytes is not among them.
func (f *recentFile) take(info os.FileInfo, offset, most, longest int64) (tds []ptrace.Traces, end int64) {
	recent.mu.Lock()
	defer recent.mu.Unlock()
	if f.info == nil || !os.SameFile(f.info, info) {
		return nil, 0
	}
	if f.behind && f.end-offset < recentFileBytes/2 {
		f.behind = false
	}
	at, found := slices.BinarySearchFunc(f.lines, offset, func(line recentLine, offset int64) int {
		return int(line.start - offset)
	})
	if !found {
		return nil, 0
	}
	end = offset
	for i := at; i < len(f.lines); i++ {
		line := &f.lines[i]
		if line.start != end || line.end > info.Size() || line.end-line.start > longest ||
			len(tds) > 0 && (line.end-offset > most || line.end-line.start > recentAloneBytes) {
			break
		}
		pref.RefTraces(line.td)
		tds = append(tds, line.td)
		line.wanted--
		if end = line.end; end-line.start > recentAloneBytes {
			break
		}
	}
	done := 0
	for done < len(f.lines) && f.lines[done].wanted <= 0 {
		done++
	}
	f.forget(done)
	if tds == nil {
		return nil, 0
	}
	return tds, end
}
