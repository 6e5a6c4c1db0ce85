package tracefile

import (
	"os"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/xpdata/pref"
)

// follow has the writers in this process keep the newest lines of the files that were found.
func (t *Tail) follow() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.files {
		if f.resolved == "" || f.resolvedFrom != f.path {
			f.resolved, f.resolvedFrom = tailResolve(f.path), f.path
		}
		now := recent.find(f.resolved)
		if now == f.recent {
			continue
		}
		f.unfollow(t.reader)
		if now != nil {
			f.recent = now
			now.join(t.reader)
		}
	}
}

func (f *tailFile) unfollow(r *recentReader) {
	if f.recent != nil {
		f.recent.leave(r)
		f.recent = nil
	}
}

// takeRecent fills the batch from the memory of the file's writer. It returns the offset after it, 0
// where the next line is not there. At most an eighth of a batch is taken at once, which is enough
// to make one of many small requests.
func (b *TailBatch) takeRecent(info os.FileInfo) (end int64) {
	f := b.file
	b.tail.mu.Lock()
	writer := f.recent
	b.tail.mu.Unlock()
	if writer == nil || f.lookFrom != f.read {
		return 0
	}
	b.Traces, end = writer.take(info, f.read, max(recentAloneBytes, b.tail.set.MaxBatchBytes/8), b.tail.set.MaxLineBytes)
	return end
}

// releaseTraces says that nobody reads the traces anymore.
func releaseTraces(tds []ptrace.Traces) {
	for _, td := range tds {
		pref.UnrefTraces(td)
	}
}
