"""A Ray driver and its actors, each with the OpenTelemetry SDK as its environment configures it.

Knows nothing of Runspan: what it is told comes from whoever starts it. Prints a line of JSON for each
span, with the run that the process's own resource names, and one with the processes.
"""

import json
import os
import sys

import ray
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.propagate import extract, inject
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


class Tracing:
    def __init__(self):
        self.provider = TracerProvider(resource=Resource.create())
        self.provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self.tracer = self.provider.get_tracer("raydriver")
        self.spans = []

    def span(self, name, context=None):
        return self.tracer.start_as_current_span(name, context=context)

    def note(self, span):
        self.spans.append({
            "trace_id": f"{span.context.trace_id:032x}",
            "span_id": f"{span.context.span_id:016x}",
            "parent": f"{span.parent.span_id:016x}" if span.parent else "",
            "name": span.name,
            "service": span.resource.attributes["service.name"],
            "run": span.resource.attributes.get("run.id", ""),
        })

    def close(self):
        self.provider.shutdown()
        return self.spans


@ray.remote(num_cpus=0.1)
class Actor:
    def __init__(self):
        self.tracing = Tracing()

    def generate(self, carrier):
        with self.tracing.span("rollout.worker.generate", extract(carrier)) as span:
            self.tracing.note(span)
        return os.getpid()

    def close(self):
        return self.tracing.close()


def main():
    ray.init(address=sys.argv[1], include_dashboard=False if sys.argv[1] == "local" else None,
             num_cpus=2 if sys.argv[1] == "local" else None, log_to_driver=False,
             runtime_env={"env_vars": json.loads(sys.argv[2])})
    tracing = Tracing()
    actors = [Actor.remote() for _ in range(3)]
    pids = set()
    for sample in range(12):
        with tracing.span("single_turn_agent_loop.run") as span:
            tracing.note(span)
            carrier = {}
            inject(carrier)
            pids.add(ray.get(actors[sample % len(actors)].generate.remote(carrier)))
    spans = sum(ray.get([actor.close.remote() for actor in actors]), tracing.close())
    ray.shutdown()
    for span in spans:
        print(json.dumps(span))
    print(json.dumps({"pids": len(pids | {os.getpid()})}))


if __name__ == "__main__":
    main()
