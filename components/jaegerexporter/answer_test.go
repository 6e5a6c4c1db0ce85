package jaegerexporter

import (
	"context"
	"strings"
	"testing"

	"github.com/jaegertracing/jaeger-idl/model/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Each status code that a server can answer: tried again until it takes the spans, or an error that
// no retry follows.
func TestEachStatusCode(t *testing.T) {
	for _, tc := range []struct {
		code      codes.Code
		message   string
		permanent bool
	}{
		{codes.Canceled, "", false},
		{codes.Unknown, "data refused due to high memory usage", false},
		{codes.Unknown, "storage: Permanent error: of one of several", false},
		{codes.Unknown, "Permanent error: bad span", true},
		{codes.Unknown, "not retryable error: Permanent error: bad span", true},
		{codes.InvalidArgument, "", true},
		{codes.DeadlineExceeded, "", false},
		{codes.NotFound, "", false},
		{codes.AlreadyExists, "", false},
		{codes.PermissionDenied, "", true},
		{codes.ResourceExhausted, "server busy", false},
		{codes.ResourceExhausted, "grpc: received message larger than max (5000000 vs. 4194304)", true},
		{codes.ResourceExhausted, "grpc: received message after decompression larger than max 4194304", true},
		{codes.ResourceExhausted, "gRPC message exceeds maximum size 4194304: 5000000", true},
		{codes.FailedPrecondition, "", false},
		{codes.Aborted, "", false},
		{codes.OutOfRange, "", false},
		{codes.Unimplemented, "", true},
		{codes.Internal, "", false},
		{codes.Unavailable, "", false},
		{codes.DataLoss, "", false},
		{codes.Unauthenticated, "", true},
	} {
		t.Run(tc.code.String()+" "+tc.message, func(t *testing.T) {
			s := startServer(t)
			failures := 2
			if tc.permanent {
				failures = 100
			}
			s.answer = func(context.Context, model.Batch) error {
				if failures--; failures >= 0 {
					return status.Error(tc.code, tc.message)
				}
				return nil
			}
			err := startExporter(t, s.address).ConsumeTraces(t.Context(), resources(1))
			if tc.permanent {
				require.Error(t, err)
				assert.True(t, consumererror.IsPermanent(err))
				assert.Equal(t, tc.code, status.Code(err), "receivers pass it on to their clients")
				assert.Equal(t, 1, s.calls)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, 3, s.calls)
			assert.Equal(t, []string{"1.1"}, s.operations())
		})
	}
}

// The OTLP port of a Jaeger, given by mistake: the error says what to write instead.
func TestUnimplemented_SaysWhatToWrite(t *testing.T) {
	address := serve(t, func(*grpc.Server) {})
	err := startExporter(t, address).ConsumeTraces(t.Context(), resources(1))
	require.True(t, consumererror.IsPermanent(err))
	require.ErrorContains(t, err, "unknown service jaeger.api_v2.CollectorService")
	require.ErrorContains(t, err, `looks like an OTLP port (4317): write the exporter otlp_grpc: {endpoint: "`+address+`", tls: {insecure: true}}`)

	secure := createDefaultConfig().(*Config)
	secure.ClientConfig.Endpoint = "jaeger:4317"
	err = secure.explain(status.Error(codes.Unimplemented, "unknown service"))
	require.ErrorContains(t, err, `otlp_grpc: {endpoint: "jaeger:4317"} in place of jaeger`)
}

// Other things of the config that an answer is about.
func TestAnswers_NameTheSetting(t *testing.T) {
	c := createDefaultConfig().(*Config)
	c.ClientConfig.Compression = "zstd"
	err := c.explain(status.Error(codes.Unimplemented, `grpc: Decompressor is not installed for grpc-encoding "zstd"`))
	require.ErrorContains(t, err, "does not know compression: zstd: write none or gzip")
	assert.NotContains(t, err.Error(), "OTLP")

	s := startServer(t, grpc.MaxRecvMsgSize(10_000))
	err = startExporter(t, s.address).ConsumeTraces(t.Context(), resources(500))
	require.True(t, consumererror.IsPermanent(err))
	require.ErrorContains(t, err, "larger than max")
	require.ErrorContains(t, err, "the server takes less than max_message_bytes: 4194304: write its limit there")

	e := startExporter(t, s.address, map[string]any{"max_message_bytes": 10_000})
	require.NoError(t, e.ConsumeTraces(t.Context(), resources(500)))
	assert.Equal(t, names(resources(500)), s.operations())
}

// The default limit is that of a gRPC server that nobody told another, also where the message is
// smaller on the wire.
func TestDefaultLimit(t *testing.T) {
	for _, compression := range []string{"none", "gzip"} {
		t.Run(compression, func(t *testing.T) {
			s := startServer(t)
			td := ptrace.NewTraces()
			resources(9).CopyTo(td)
			for _, span := range td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
				span.Attributes().PutStr("prompt", strings.Repeat("x", 1<<20))
			}
			e := startExporter(t, s.address, map[string]any{"compression": compression})
			require.NoError(t, e.ConsumeTraces(t.Context(), td))
			assert.Equal(t, names(td), s.operations())
			assert.Equal(t, 3, s.calls, "three of a MiB and a little in each message of 4 MiB")
		})
	}
}
