// A gateway in JavaScript: its OpenTelemetry SDK sends OTLP/HTTP with JSON bodies. Prints one JSON
// line for each span that the collector has acknowledged.
// Usage: node gateway.cjs HOST:PORT RUN_ID REQUESTS
const { SpanStatusCode, context, trace } = require("@opentelemetry/api");
const { OTLPTraceExporter } = require("@opentelemetry/exporter-trace-otlp-http");
const { resourceFromAttributes } = require("@opentelemetry/resources");
const { BasicTracerProvider, BatchSpanProcessor } = require("@opentelemetry/sdk-trace-base");

const [endpoint, run, requests] = process.argv.slice(2);
const service = "llm-gateway";
let failed = 0;

class Ledger {
  constructor(exporter) {
    this.exporter = exporter;
  }
  export(spans, done) {
    this.exporter.export(spans, (result) => {
      if (result.code !== 0) {
        failed += spans.length;
        console.error(result.error);
      } else {
        for (const span of spans) {
          console.log(JSON.stringify({
            trace_id: span.spanContext().traceId,
            span_id: span.spanContext().spanId,
            parent: span.parentSpanContext?.spanId ?? "",
            name: span.name,
            service,
            run,
          }));
        }
      }
      done(result);
    });
  }
  shutdown() {
    return this.exporter.shutdown();
  }
  forceFlush() {
    return this.exporter.forceFlush();
  }
}

const provider = new BasicTracerProvider({
  resource: resourceFromAttributes({ "service.name": service, "run.id": run }),
  spanProcessors: [
    new BatchSpanProcessor(new Ledger(new OTLPTraceExporter({ url: `http://${endpoint}/v1/traces` }))),
  ],
});
const tracer = provider.getTracer("gateway");

for (let i = 0; i < Number(requests); i++) {
  const request = tracer.startSpan("POST /v1/chat/completions", { attributes: { "http.route": "/v1/chat/completions", n: i } });
  const upstream = tracer.startSpan("upstream.generate", { attributes: { prompt: 'say "hi"\n你好' } },
    trace.setSpan(context.active(), request));
  upstream.addEvent("first_token", { ms: 12.5 });
  upstream.setStatus({ code: SpanStatusCode.OK });
  upstream.end();
  request.end();
}

provider.shutdown().then(() => process.exit(failed ? 1 : 0));
