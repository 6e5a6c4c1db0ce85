package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

const (
	// progressEvery is how often the progress is shown anew.
	progressEvery = 200 * time.Millisecond

	// progressFrom is how many bytes take long enough to show any: a tenth of a second of decoding.
	progressFrom = 16 << 20
)

// progress shows on a terminal how far long work is. In a pipe it is silent.
type progress struct {
	to    io.Writer // nil: nobody looks
	verb  string
	total int64

	started, shown time.Time
	before         int64 // bytes of the files that are done
}

// newProgress begins to show work on files of this size together.
func (a *app) newProgress(verb string, total int64) *progress {
	p := &progress{verb: verb, total: total, started: time.Now()}
	if f, ok := a.errOut.(*os.File); ok && total >= progressFrom && term.IsTerminal(int(f.Fd())) {
		p.to = f
	}
	return p
}

// at says how much of a file is done.
func (p *progress) at(path string, done int64) {
	if p.to == nil {
		return
	}
	now := time.Now()
	if now.Sub(p.shown) < progressEvery {
		return
	}
	p.shown = now
	done += p.before
	rate := float64(done) / max(now.Sub(p.started), time.Millisecond).Seconds()
	_, _ = fmt.Fprintf(p.to, "\r\x1b[K%s %3d %%  %s of %s, %s/s  %s", p.verb, done*100/max(1, p.total), size(done), size(p.total),
		size(int64(rate)), visible(path))
}

// fileDone says that a file of this size is done.
func (p *progress) fileDone(bytes int64) { p.before += bytes }

// clear takes the progress off the terminal, before anything else is printed.
func (p *progress) clear() {
	if p.to != nil && !p.shown.IsZero() {
		_, _ = fmt.Fprint(p.to, "\r\x1b[K")
		p.shown = time.Time{}
	}
}
