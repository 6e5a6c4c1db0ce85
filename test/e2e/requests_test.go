package e2e

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// spanWithAttribute returns one span with one text attribute.
func spanWithAttribute(value string) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "requests")
	rs.Resource().Attributes().PutStr("run.id", "by hand")
	span := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.SetTraceID(pcommon.TraceID{1, 2, 3})
	span.SetSpanID(pcommon.SpanID{4, 5, 6})
	span.SetName("by hand")
	span.SetStartTimestamp(pcommon.NewTimestampFromTime(time.Now()))
	span.SetEndTimestamp(pcommon.NewTimestampFromTime(time.Now()))
	span.Attributes().PutStr("text", value)
	return td
}

func marshal(t *testing.T, td ptrace.Traces) []byte {
	t.Helper()
	data, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func spanOf(td ptrace.Traces) ptrace.Span {
	return td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
}

// export sends one request over gRPC and returns its answer.
func export(t *testing.T, address string, td ptrace.Traces) error {
	t.Helper()
	return exportContext(t.Context(), t, address, td)
}

// exportContext is export with a context that may hold outgoing metadata.
func exportContext(ctx context.Context, t *testing.T, address string, td ptrace.Traces) error {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = ptraceotlp.NewGRPCClient(conn).Export(ctx, ptraceotlp.NewExportRequestFromTraces(td))
	return err
}

// post sends one HTTP request and returns the status and body of the answer.
func post(t *testing.T, method, url, contentType string, body []byte) (code int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// sendNoise sends bytes that are no HTTP, and waits until the other side has closed or answered.
func sendNoise(t *testing.T, address string) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(bytes.Repeat([]byte("\x00\xffnoise\r\n\r\n"), 100)); err != nil {
		t.Fatal(err)
	}
	// A server that keeps such a connection open for ever can be filled with them. A reset is an
	// error here, and as good an answer as any.
	if _, err := io.Copy(io.Discard, conn); err != nil {
		var netErr net.Error
		if errors.As(err, &netErr) && netErr.Timeout() {
			t.Fatalf("%s kept the connection open: %v", address, err)
		}
	}
}

// nested returns an OTLP request of about the given size: one span whose attribute is an array in
// an array in an array, and so on.
func nested(size int) []byte {
	// Built from the inside out into the end of a buffer: wrapping each level anew would copy the
	// whole again a million times.
	buf := make([]byte, size)
	at := len(buf)
	wrap := func(tag byte) {
		var length [binary.MaxVarintLen64]byte
		n := binary.PutUvarint(length[:], uint64(len(buf)-at))
		at -= n
		copy(buf[at:], length[:n])
		at--
		buf[at] = tag
	}
	const message = 2 // wire type: length-delimited
	field := func(n byte) byte { return n<<3 | message }
	for at > 128 {
		wrap(field(1)) // ArrayValue.values
		wrap(field(5)) // AnyValue.array_value
	}
	wrap(field(2))                           // KeyValue.value
	at -= 3                                  // KeyValue.key = "k"
	copy(buf[at:], []byte{field(1), 1, 'k'}) //
	wrap(field(9))                           // Span.attributes
	at -= 10                                 // Span.span_id
	copy(buf[at:], []byte{field(2), 8, 1, 2, 3, 4, 5, 6, 7, 8})
	at -= 18 // Span.trace_id
	copy(buf[at:], []byte{field(1), 16, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8})
	wrap(field(2)) // ScopeSpans.spans
	wrap(field(2)) // ResourceSpans.scope_spans
	wrap(field(1)) // ExportTraceServiceRequest.resource_spans
	return buf[at:]
}
