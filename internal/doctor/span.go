package doctor

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/runspan/runspan/internal/runid"
)

// Service is the service.name of the test span.
const Service = "runspan-doctor"

// testSpan is the span that is sent.
type testSpan struct {
	run   string
	trace pcommon.TraceID
	span  pcommon.SpanID
}

func newTestSpan() testSpan {
	s := testSpan{run: "doctor-" + runid.New(time.Now())}
	_, _ = rand.Read(s.trace[:]) // never fails
	_, _ = rand.Read(s.span[:])
	return s
}

func (s *testSpan) traceID() string { return hex.EncodeToString(s.trace[:]) }
func (s *testSpan) spanID() string  { return hex.EncodeToString(s.span[:]) }

// traces returns the span as it is sent: a root of its own run, that ends now.
func (s *testSpan) traces() ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	attrs := rs.Resource().Attributes()
	attrs.PutStr(runid.AttributeServiceName, Service)
	attrs.PutStr(runid.AttributeRunID, s.run)
	attrs.PutInt("process.pid", int64(os.Getpid()))
	if host, err := os.Hostname(); err == nil {
		attrs.PutStr("host.name", host)
	}
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("github.com/runspan/runspan/internal/doctor")
	span := ss.Spans().AppendEmpty()
	span.SetTraceID(s.trace)
	span.SetSpanID(s.span)
	span.SetName("runspan doctor")
	span.SetKind(ptrace.SpanKindInternal)
	span.SetFlags(1) // sampled
	now := time.Now()
	span.SetStartTimestamp(pcommon.NewTimestampFromTime(now.Add(-time.Millisecond)))
	span.SetEndTimestamp(pcommon.NewTimestampFromTime(now))
	return td
}
