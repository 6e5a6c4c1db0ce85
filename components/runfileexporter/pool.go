package runfileexporter

import "sync"

const (
	// keptRequests is how many requests are kept through garbage collections.
	keptRequests = 16
	// keptBytes is the largest that one of them may be, so that all together hold at most 16 MiB.
	keptBytes = 1 << 20
)

// requestPool hands out requests that were used before. A sync.Pool alone is emptied by the garbage
// collector, which under load runs some 40 times a second: making the buffers again, in steps, was 1 % of
// the collector's CPU. It is left with what is too many or too large to keep.
type requestPool struct {
	kept chan *request
	rest sync.Pool
}

func newRequestPool(maxLineBytes int) *requestPool {
	return &requestPool{
		kept: make(chan *request, keptRequests),
		rest: sync.Pool{New: func() any { return newRequest(maxLineBytes) }},
	}
}

func (p *requestPool) get() *request {
	select {
	case r := <-p.kept:
		return r
	default:
		return p.rest.Get().(*request)
	}
}

func (p *requestPool) put(r *request) {
	r.forget()
	if r.encoder.Buffered() <= keptBytes {
		select {
		case p.kept <- r:
			return
		default:
		}
	}
	p.rest.Put(r)
}
