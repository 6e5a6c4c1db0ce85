package doctor

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/grpc/codes"
)

// send hands the span over and tells what became of it.
func (v *visit) send(ctx context.Context) Place {
	inTime, cancel := v.inTime(ctx)
	defer cancel()
	a := v.export(inTime, v.target.way, v.span.traces())
	t := v.target
	switch {
	case a.err != nil:
		return v.notUnderstood(ctx, a)
	case a.rejected > 0:
		return wrong("send", rejected, fmt.Sprintf("%s refused the span: %s", t.address(), text(a.text)), "endpoint", t.endpoint)
	case a.status == 0 && a.code == codes.OK, a.status == http.StatusOK && a.spoke:
		return seen("send", OK, fmt.Sprintf("%s took the span by %s in %s", t.address(), spoken(t.way.protocol), short(a.took)))
	case a.status == 0:
		return v.refusedByGRPC(a)
	}
	return v.refusedByHTTP(ctx, a)
}

// notUnderstood tells why a server did not answer in the protocol.
func (v *visit) notUnderstood(ctx context.Context, a answer) Place {
	t := v.target
	if p, ok := v.badCertificate("send", a.err); ok {
		return p
	}
	if p, ok := v.speaksOther(ctx); ok {
		return p
	}
	if timedOut(a.err) || a.code == codes.DeadlineExceeded {
		return v.silent("send")
	}
	return wrong("send", notOTLP, fmt.Sprintf("%s answers, and not in OTLP: %s", t.address(), text(a.err.Error())), "endpoint", t.endpoint)
}

// speaksOther tells whether the server speaks TLS where it was to speak plain text, or the other
// protocol.
func (v *visit) speaksOther(ctx context.Context) (Place, bool) {
	t := v.target
	if !t.way.tls && v.speaksTLS(ctx) {
		return wrong("send", tlsExpected, t.address()+" speaks TLS, and the endpoint is http",
			"endpoint", t.endpoint, "instead", "https"+strings.TrimPrefix(t.endpoint, "http")), true
	}
	w, ok := v.probe(ctx, way{other(t.way.protocol), t.way.tls, tracesPath})
	if !ok {
		return Place{}, false
	}
	f := grpcOnHTTP
	if w.protocol == GRPC {
		f = httpOnGRPC
	}
	return wrong("send", f, fmt.Sprintf("%s speaks %s, and the span was sent by %s", t.address(), spoken(w.protocol), spoken(t.way.protocol)),
		"endpoint", t.endpoint), true
}

// refusedByGRPC tells what a status of gRPC means.
func (v *visit) refusedByGRPC(a answer) Place {
	t := v.target
	what := fmt.Sprintf("%s answers %s: %s", t.address(), a.code, text(a.text))
	switch a.code {
	case codes.Unauthenticated, codes.PermissionDenied:
		return v.tokenRefused(what)
	case codes.Unimplemented:
		return wrong("send", noTraces, what, "endpoint", t.endpoint)
	case codes.Unavailable, codes.ResourceExhausted, codes.DeadlineExceeded, codes.Aborted, codes.Canceled, codes.OutOfRange, codes.DataLoss:
		// Those with which OTLP asks to come again.
		return wrong("send", busy, what, "endpoint", t.endpoint)
	}
	return wrong("send", rejected, what, "endpoint", t.endpoint)
}

// refusedByHTTP tells what a status of HTTP means.
func (v *visit) refusedByHTTP(ctx context.Context, a answer) Place {
	t := v.target
	what := fmt.Sprintf("%s answers %d %s", t.url(t.way), a.status, http.StatusText(a.status))
	if a.text != "" {
		what += ": " + text(a.text)
	}
	switch a.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return v.tokenRefused(what)
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return wrong("send", busy, what, "endpoint", t.endpoint)
	}
	if a.status >= 300 && a.status < 400 && a.location != "" {
		instead := a.location
		if !v.Exact {
			instead = strings.TrimSuffix(instead, tracesPath)
		}
		return wrong("send", redirect, what+": go to "+text(a.location), "endpoint", t.endpoint, "instead", text(instead))
	}
	if a.spoke {
		return wrong("send", rejected, what, "endpoint", t.endpoint)
	}
	if t.way.path != tracesPath {
		if w, ok := v.probe(ctx, way{HTTP, t.way.tls, tracesPath}); ok {
			instead := t.url(way{tls: w.tls})
			if v.Exact {
				instead = t.url(w)
			}
			return wrong("send", wrongPath, fmt.Sprintf("%s, and takes OTLP/HTTP at %s", what, tracesPath), "endpoint", t.endpoint, "instead", instead)
		}
	}
	if p, ok := v.speaksOther(ctx); ok {
		return p
	}
	return wrong("send", notOTLP, what+", which is no answer of OTLP/HTTP", "endpoint", t.endpoint)
}

func (v *visit) tokenRefused(what string) Place {
	for key := range v.Headers {
		if strings.EqualFold(key, "authorization") {
			return wrong("send", tokenWrong, what+"; it got a header authorization")
		}
	}
	return wrong("send", tokenMissing, what+"; it got no header authorization")
}

// text returns what a server said, on one line and not too long.
func text(said string) string {
	const most = 300
	said = strings.Join(strings.Fields(said), " ")
	if said == "" {
		return "(nothing)"
	}
	if len(said) > most {
		said = strings.ToValidUTF8(said[:most], "") + "..."
	}
	return said
}
