package doctor

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// clockBound is how far apart clocks may be. The Date header of HTTP has seconds only; spans that stand
// a minute apart are what people ask about.
const clockBound = 2 * time.Second

// reading is what another host's clock shows.
type reading struct {
	host   string
	off    time.Duration // that clock minus ours
	within time.Duration // how exactly that is known
}

type readings struct {
	mu  sync.Mutex
	all []reading
}

// readClock takes the time from the Date header of an answer.
func (v *visit) readClock(resp *http.Response, sent time.Time, host string) {
	now := time.Now()
	date, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil || resp.Header.Get("Age") != "" { // that of a cache is old
		return
	}
	// The header is cut to the second, and was written between the request and its answer.
	trip := now.Sub(sent)
	off := date.Add(time.Second / 2).Sub(sent.Add(trip / 2))
	v.clocks.mu.Lock()
	defer v.clocks.mu.Unlock()
	v.clocks.all = append(v.clocks.all, reading{host: host, off: off, within: time.Second/2 + trip/2})
}

// clock compares the clocks. gRPC says nothing of the time: then it is the HTTP port beside it that is
// asked, or what a viewer or Jaeger said.
func (v *visit) clock(ctx context.Context, accepted bool) Place {
	if len(v.clocks.all) == 0 && accepted && v.target.port == "4317" {
		v.askBeside(ctx)
	}
	if len(v.clocks.all) == 0 {
		return seen("clock", Skipped, "not compared: no answer had a Date header (gRPC has none; with an OTLP/HTTP endpoint, --viewer or --jaeger there is one)")
	}
	worst := v.clocks.all[0]
	for _, r := range v.clocks.all[1:] {
		if r.off.Abs()-r.within > worst.off.Abs()-worst.within {
			worst = r
		}
	}
	if worst.off.Abs()-worst.within <= clockBound {
		return seen("clock", OK, fmt.Sprintf("that of %s is the same to %s (Date header of HTTP)", worst.host, (worst.off.Abs()+worst.within).Round(100*time.Millisecond)))
	}
	direction := "ahead of"
	if worst.off < 0 {
		direction = "behind"
	}
	return wrong("clock", clock, fmt.Sprintf("that of %s is %s %s this host's, to within %s (Date header of HTTP)",
		worst.host, worst.off.Abs().Round(time.Second), direction, worst.within.Round(100*time.Millisecond)), "host", worst.host)
}

// askBeside asks the OTLP/HTTP port of a collector whose gRPC port took the span what time it is.
func (v *visit) askBeside(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, probeTime/2)
	defer cancel()
	beside := *v.target
	beside.port = "4318"
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, beside.url(way{tls: beside.way.tls, path: tracesPath}), http.NoBody)
	if err != nil {
		return
	}
	client := v.httpClient()
	defer client.CloseIdleConnections()
	sent := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		return
	}
	defer func() { _ = resp.Body.Close() }() // there is none
	v.readClock(resp, sent, net.JoinHostPort(beside.host, beside.port))
}
