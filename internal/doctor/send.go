package doctor

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const protobuf = "application/x-protobuf"

// answer is what came back for a request of OTLP.
type answer struct {
	// err says that nothing came back that can be understood.
	err error
	// spoke says that the server speaks the protocol.
	spoke bool
	// status is that of HTTP, 0 for gRPC; code that of gRPC.
	status int
	code   codes.Code
	// text is the server's message, or where it sends the client.
	text     string
	location string
	// rejected is how many spans it did not take of an accepted request.
	rejected int64
	took     time.Duration
}

// export hands traces over in a way.
func (v *visit) export(ctx context.Context, w way, td ptrace.Traces) answer {
	began := time.Now()
	var a answer
	if w.protocol == GRPC {
		a = v.exportGRPC(ctx, w, td)
	} else {
		a = v.exportHTTP(ctx, w, td)
	}
	a.took = time.Since(began)
	return a
}

func (v *visit) exportGRPC(ctx context.Context, w way, td ptrace.Traces) answer {
	security := insecure.NewCredentials()
	if w.tls {
		security = credentials.NewTLS(v.target.config)
	}
	// The name is resolved by the dialer, as everywhere else here.
	conn, err := grpc.NewClient("passthrough:///"+v.target.address(),
		grpc.WithTransportCredentials(security), grpc.WithNoProxy(), grpc.WithUserAgent("runspan-doctor"))
	if err != nil {
		return answer{err: err}
	}
	defer func() { _ = conn.Close() }() // the answer is there
	for key, value := range v.Headers {
		ctx = metadata.AppendToOutgoingContext(ctx, key, value)
	}
	var header, trailer metadata.MD
	resp, err := ptraceotlp.NewGRPCClient(conn).Export(ctx, ptraceotlp.NewExportRequestFromTraces(td),
		grpc.Header(&header), grpc.Trailer(&trailer))
	if err == nil {
		return answer{spoke: true, text: resp.PartialSuccess().ErrorMessage(), rejected: resp.PartialSuccess().RejectedSpans()}
	}
	s, _ := status.FromError(err)
	a := answer{code: s.Code(), text: s.Message()}
	for _, md := range []metadata.MD{header, trailer} {
		for _, kind := range md.Get("content-type") {
			a.spoke = a.spoke || strings.HasPrefix(kind, "application/grpc")
		}
	}
	if !a.spoke {
		a.err = errors.New(s.Message())
	}
	return a
}

func (v *visit) exportHTTP(ctx context.Context, w way, td ptrace.Traces) answer {
	body, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
	if err != nil {
		return answer{err: err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, v.target.url(w), bytes.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	for key, value := range v.Headers {
		req.Header.Set(key, value)
	}
	req.Header.Set("Content-Type", protobuf)
	client := v.httpClient()
	defer client.CloseIdleConnections()
	sent := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	v.readClock(resp, sent, v.target.host)
	const most = 64 << 10 // of an answer; one of OTLP is a few hundred bytes
	body, err = io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return answer{err: err}
	}
	a := answer{status: resp.StatusCode, location: resp.Header.Get("Location")}
	isProto := strings.HasPrefix(resp.Header.Get("Content-Type"), protobuf)
	switch {
	case a.status == http.StatusOK && isProto:
		export := ptraceotlp.NewExportResponse()
		if err := export.UnmarshalProto(body); err != nil {
			return answer{err: err}
		}
		a.spoke, a.text, a.rejected = true, export.PartialSuccess().ErrorMessage(), export.PartialSuccess().RejectedSpans()
	case isProto:
		var s spb.Status
		if err := proto.Unmarshal(body, &s); err == nil {
			a.spoke, a.text = true, s.GetMessage()
		}
	}
	return a
}

// httpClient returns a client that goes directly, without the proxies of the environment, and that stays
// where it was sent, as SDKs do.
func (v *visit) httpClient() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{TLSClientConfig: v.target.config.Clone(), ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// probe returns the first of the ways that the server speaks, found out with requests that hold no
// spans. Whether it would take spans does not matter.
func (v *visit) probe(ctx context.Context, ways ...way) (way, bool) {
	for _, w := range ways {
		// Each has its own time: a server can be silent to one and answer another.
		ctx, cancel := context.WithTimeout(ctx, probeTime/time.Duration(len(ways)))
		a := v.export(ctx, w, ptrace.NewTraces())
		cancel()
		if a.spoke {
			return w, true
		}
	}
	return way{}, false
}

func other(protocol string) string {
	if protocol == GRPC {
		return HTTP
	}
	return GRPC
}

func spoken(protocol string) string {
	if protocol == GRPC {
		return "OTLP/gRPC"
	}
	return "OTLP/HTTP"
}
