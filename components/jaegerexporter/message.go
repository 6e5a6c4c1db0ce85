package jaegerexporter

import (
	"math/bits"

	"github.com/jaegertracing/jaeger-idl/model/v1"
	"github.com/jaegertracing/jaeger-idl/proto-gen/api_v2"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/translator/jaeger"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// translatorNoService is what the translator names a resource without any attribute. Jaeger's
	// receiver knows the name and drops what has it.
	translatorNoService = "OTLPResourceNoServiceName"

	// unknownService is the name that OpenTelemetry gives to a service without one. A search in
	// Jaeger is by service: spans without a name could not be found.
	unknownService = "unknown_service"
)

// message is one request to the server, and the spans of the batch that are in it: the first and the
// one after the last, counted over all resources.
type message struct {
	request  *api_v2.PostSpansRequest
	from, to int
	tooLarge error // in place of a request: its only span is over the limit by itself
}

// messages translates td into requests of at most limit bytes. Each holds the spans of one resource;
// all together they hold every span once, in its order.
func messages(td ptrace.Traces, limit int) []message {
	var all []message
	next := 0
	for _, batch := range jaeger.ProtoFromTraces(td) {
		if len(batch.Spans) == 0 {
			continue // a resource without spans says nothing to Jaeger
		}
		correctService(batch.Process)
		for _, span := range batch.Spans {
			correctTimes(span)
		}
		all = appendMessages(all, batch, next, limit)
		next += len(batch.Spans)
	}
	return all
}

// appendMessages splits one batch, whose first span has the number first.
func appendMessages(all []message, batch *model.Batch, first, limit int) []message {
	whole := request(batch.Process, batch.Spans)
	if whole.Size() <= limit {
		return append(all, message{request: whole, from: first, to: first + len(batch.Spans)})
	}
	process := fieldSize(batch.Process.Size())
	from, size := 0, process
	flush := func(to int) {
		if from < to {
			all = append(all, message{request: request(batch.Process, batch.Spans[from:to]), from: first + from, to: first + to})
		}
		from, size = to, process
	}
	for i, span := range batch.Spans {
		n := fieldSize(span.Size())
		if fieldSize(size+n) > limit {
			flush(i)
		}
		if alone := fieldSize(process + n); alone > limit {
			all = append(all, message{from: first + i, to: first + i + 1, tooLarge: status.Errorf(codes.InvalidArgument,
				"span %s %.100q of service %q takes %d bytes with its process, over max_message_bytes: %d: raise it, and the server's limit",
				span.SpanID, span.OperationName, batch.Process.ServiceName, alone, limit)})
			from = i + 1
			continue
		}
		size += n
	}
	flush(len(batch.Spans))
	return all
}

func request(process *model.Process, spans []*model.Span) *api_v2.PostSpansRequest {
	return &api_v2.PostSpansRequest{Batch: model.Batch{Process: process, Spans: spans}}
}

// fieldSize returns the bytes of a field that holds a message of n bytes, with a field number below
// 16: its tag, its length and itself.
func fieldSize(n int) int {
	return 1 + (bits.Len64(uint64(n)|1)+6)/7 + n
}

func correctService(process *model.Process) {
	if process.ServiceName == "" || process.ServiceName == translatorNoService {
		process.ServiceName = unknownService
	}
}

// correctTimes gives a span that has no end or no start, or that ends before it starts, the duration
// 0 at the time that it has. Jaeger would show such a span as one of decades.
func correctTimes(span *model.Span) {
	switch {
	case span.Duration < 0:
		span.Duration = 0
	case span.StartTime.UnixNano() == 0:
		span.StartTime = span.StartTime.Add(span.Duration)
		span.Duration = 0
	}
}
