package doctor

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/runspan/runspan/internal/container"
)

// probeTime bounds finding out what a server speaks that did not take the span.
const probeTime = 2 * time.Second

// visit is one test span on its way.
type visit struct {
	Settings
	target *target
	span   testSpan
	pod    string // "pod" or "container" where this process is in one, else ""

	deadline time.Time // of the way to the endpoint
	clocks   readings
}

// Run sends a test span and follows it. It takes at most twice the timeout and five seconds. The error
// says that the settings cannot be understood, or is that of ctx; what is wrong on the way is in the
// report.
func Run(ctx context.Context, set Settings) (*Report, error) {
	if err := set.check(); err != nil {
		return nil, err
	}
	t, err := set.target()
	if err != nil {
		return nil, err
	}
	v := &visit{Settings: set, target: t, span: newTestSpan(), pod: container.Kind(os.Getenv)}
	r := &Report{
		OK: true, RunID: v.span.run, TraceID: v.span.traceID(), SpanID: v.span.spanID(), Service: Service,
		Endpoint: t.endpoint, Protocol: t.way.protocol,
	}
	r.add(v.notes()...)
	file := v.openFile() // before the span is on its way
	defer file.close()
	accepted := v.deliver(ctx, r)
	v.follow(ctx, r, accepted, file)
	r.add(v.clock(ctx, accepted))
	return r, ctx.Err()
}

// notes says what is worth knowing before anything is tried.
func (v *visit) notes() []Place {
	var notes []Place
	if v.target.way.protocol == GRPC && v.target.way.path != tracesPath && v.target.way.path != "" {
		notes = append(notes, seen("endpoint", Note, "gRPC has no path: that of the endpoint is passed over"))
	}
	// gRPC for Go asks for the proxy of https also in plain text, other gRPCs do not.
	for name, scheme := range map[string]string{"HTTP_PROXY": "http", "HTTPS_PROXY": "https"} {
		if v.target.way.protocol == HTTP && v.target.way.tls != (scheme == "https") {
			continue
		}
		req := &http.Request{URL: &url.URL{Scheme: scheme, Host: v.target.address()}}
		if proxy, err := http.ProxyFromEnvironment(req); err == nil && proxy != nil {
			notes = append(notes, seen("proxy", Note, fmt.Sprintf("%s may send an SDK's requests through %s; this test goes directly; to take the proxy out, add %s to NO_PROXY",
				name, proxy.Host, v.target.host)))
		}
	}
	return notes
}

// deliver takes the span to the endpoint, and reports whether it was taken.
func (v *visit) deliver(ctx context.Context, r *Report) bool {
	v.deadline = time.Now().Add(v.Timeout)
	steps := []struct {
		place string
		step  func(context.Context) Place
	}{{"name", v.resolve}, {"connect", v.connect}, {"tls", v.handshake}, {"send", v.send}}
	for _, s := range steps {
		if s.place == "tls" && !v.target.way.tls {
			continue
		}
		p := s.step(ctx)
		r.add(p)
		if p.State != Wrong {
			continue
		}
		if s.place != "send" {
			r.add(seen("send", Skipped, "not tried: "+s.place+" failed"))
		}
		return false
	}
	return true
}

// inTime bounds a part of the way to the endpoint.
func (v *visit) inTime(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, v.deadline)
}

// follow looks for the span at the places behind the endpoint, all at once.
func (v *visit) follow(ctx context.Context, r *Report, accepted bool, file *follower) {
	ctx, cancel := context.WithTimeout(ctx, v.Timeout)
	defer cancel()
	looks := []struct {
		place, address string
		look           func(context.Context) Place
	}{
		{"file", v.TraceFile, func(ctx context.Context) Place { return v.lookInFile(ctx, file) }},
		{"viewer", v.Viewer, v.lookInViewer},
		{"jaeger", v.Jaeger, v.lookInJaeger},
	}
	places := make([]*Place, len(looks))
	var wait sync.WaitGroup
	for i, l := range looks {
		switch {
		case l.address == "":
		case !accepted:
			places[i] = new(seen(l.place, Skipped, "not looked at: the endpoint did not take the span"))
		default:
			wait.Go(func() { places[i] = new(l.look(ctx)) })
		}
	}
	wait.Wait()
	for _, p := range places {
		if p != nil {
			r.add(*p)
		}
	}
}
