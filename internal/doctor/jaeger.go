package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// jaegerAnswer is what is used of the answers of Jaeger's query API.
type jaegerAnswer struct {
	Data []struct {
		TraceID string `json:"traceID"`
		Spans   []struct {
			SpanID string `json:"spanID"`
		} `json:"spans"`
	} `json:"data"`
	Errors []struct {
		Code int    `json:"code"`
		Msg  string `json:"msg"`
	} `json:"errors"`
}

// lookInJaeger waits until Jaeger has the trace.
func (v *visit) lookInJaeger(ctx context.Context) Place {
	began := time.Now()
	last := ""
	for {
		var trace jaegerAnswer
		_, err := v.ask(ctx, v.Jaeger+"/api/traces/"+v.span.traceID(), v.JaegerHeaders, &trace)
		switch {
		case errors.Is(err, errNotJSON), err == nil && trace.Data == nil && trace.Errors == nil:
			return wrong("jaeger", jaegerNotOne, v.Jaeger+" answers, and not as the query API of a Jaeger", "jaeger", v.Jaeger)
		case err != nil && ctx.Err() == nil:
			return wrong("jaeger", jaegerUnreachable, v.unreachable(v.Jaeger, err), "jaeger", v.Jaeger)
		case len(trace.Data) > 0 && len(trace.Data[0].Spans) > 0:
			return seen("jaeger", OK, fmt.Sprintf("%s has the trace with %d span, %s after the endpoint took it",
				v.Jaeger, len(trace.Data[0].Spans), short(time.Since(began))))
		case len(trace.Errors) > 0:
			last = ": " + text(trace.Errors[0].Msg)
		}
		if !again(ctx) {
			return wrong("jaeger", jaegerWithoutTrace, fmt.Sprintf("%s does not have the trace after %s%s", v.Jaeger, v.Timeout, last), "jaeger", v.Jaeger, "endpoint", v.target.endpoint)
		}
	}
}
