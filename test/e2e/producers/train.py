"""A small training run, traced as XTuner traces one.

A driver starts its actors as processes of their own and hands them one sample at a time together
with a W3C carrier, so that every trace crosses processes. Each process writes a ledger: one JSON
line for each span that the collector has acknowledged.
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
import uuid

from opentelemetry import trace
from opentelemetry.propagate import extract, inject
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult


class Ledger(SpanExporter):
    """Passes spans on and writes down those that were acknowledged."""

    def __init__(self, exporter, path, run):
        self.exporter = exporter
        self.file = open(path, "a", encoding="utf-8")
        self.run = run
        self.failed = 0

    def export(self, spans):
        result = self.exporter.export(spans)
        if result is not SpanExportResult.SUCCESS:
            self.failed += len(spans)
            return result
        for span in spans:
            self.file.write(json.dumps({
                "trace_id": f"{span.context.trace_id:032x}",
                "span_id": f"{span.context.span_id:016x}",
                "parent": f"{span.parent.span_id:016x}" if span.parent else "",
                "name": span.name,
                "service": span.resource.attributes["service.name"],
                "run": self.run,
            }) + "\n")
        self.file.flush()
        return result

    def shutdown(self):
        self.exporter.shutdown()
        self.file.close()


def make_exporter(protocol, endpoint):
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
        return OTLPSpanExporter(endpoint=f"http://{endpoint}", insecure=True, timeout=30)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    return OTLPSpanExporter(endpoint=f"http://{endpoint}/v1/traces", timeout=30)


def make_run_id():
    """As XTuner makes it: local time, process, eight hex digits."""
    now = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    return f"{now}-{os.getpid()}-{uuid.uuid4().hex[:8]}"


class Tracing:
    """The tracing of one process."""

    def __init__(self, args, service):
        resource = {"service.name": service}
        if args.run_on == "resource":
            resource["run.id"] = args.run_id
        expected = "unassigned" if args.run_on == "nowhere" else args.run_id
        path = os.path.join(args.ledger, f"{service}-{os.getpid()}.jsonl")
        self.ledger = Ledger(make_exporter(args.protocol, args.endpoint), path, expected)
        self.provider = TracerProvider(resource=Resource.create(resource))
        self.provider.add_span_processor(BatchSpanProcessor(self.ledger, schedule_delay_millis=200))
        self.tracer = self.provider.get_tracer("xtuner.rl.trace")
        self.own = {"run.id": args.run_id} if args.run_on == "span" else {}

    def span(self, name, context=None, **attributes):
        attributes = {key.replace("__", "."): value for key, value in attributes.items()}
        return self.tracer.start_as_current_span(
            name, context=context, attributes={**attributes, **self.own, "xtuner.stage": name})

    def shutdown(self):
        self.provider.force_flush()
        self.provider.shutdown()
        if self.ledger.failed:
            sys.exit(f"{self.ledger.failed} spans were not acknowledged")


def act(tracing):
    """An actor: generates what the driver asks for, line by line."""
    for line in sys.stdin:
        sample = json.loads(line)
        with tracing.span("rollout.worker.generate", extract(sample["carrier"]),
                          xtuner__rollout_id=sample["rollout"]) as span:
            with tracing.span("rollout.engine.decode", prompt__tokens=128):
                pass
            span.set_attribute("completion.tokens", 512)
            span.add_event("finished", {"finish_reason": "stop"})
        print(json.dumps({"text": "四十二\n\"42\""}), flush=True)


def drive(args, tracing):
    """A driver: samples go to its actors in turn."""
    command = [sys.executable, __file__, "--role", "actor", "--protocol", args.protocol,
               "--endpoint", args.endpoint, "--run-id", args.run_id, "--run-on", args.run_on,
               "--ledger", args.ledger]
    actors = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
              for _ in range(args.actors)]
    for rollout in range(args.samples):
        actor = actors[rollout % len(actors)]
        with tracing.span("single_turn_agent_loop.run", xtuner__rollout_id=rollout,
                          xtuner__group_id=rollout // 4, xtuner__task_name="gsm8k",
                          xtuner__producer_future_step=rollout // 16):
            with tracing.span("rollout.controller.generate"):
                carrier = {}
                inject(carrier)
                actor.stdin.write(json.dumps({"carrier": carrier, "rollout": rollout}) + "\n")
                actor.stdin.flush()
                answer = json.loads(actor.stdout.readline())
            with tracing.span("judger.run", reward__score=1.0, answer=answer["text"]) as span:
                if rollout % 7 == 3:
                    span.set_status(trace.StatusCode.ERROR, "wrong answer")
    for actor in actors:
        actor.stdin.close()
    if any(actor.wait(timeout=60) for actor in actors):
        sys.exit("an actor failed")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--role", choices=["driver", "actor"], default="driver")
    parser.add_argument("--protocol", choices=["grpc", "http"], default="grpc")
    parser.add_argument("--endpoint", required=True, help="host:port")
    parser.add_argument("--run-id", default="")
    parser.add_argument("--run-on", choices=["resource", "span", "nowhere"], default="resource")
    parser.add_argument("--ledger", required=True, help="a folder")
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--actors", type=int, default=2)
    args = parser.parse_args()
    args.run_id = args.run_id or make_run_id()

    if args.role == "actor":
        tracing = Tracing(args, "xtuner-rollout-worker")
        act(tracing)
    else:
        tracing = Tracing(args, "xtuner-rollout")
        print(args.run_id, flush=True)
        drive(args, tracing)
    tracing.shutdown()


if __name__ == "__main__":
    main()
