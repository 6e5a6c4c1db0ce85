import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Copy } from "../../parts/copy.tsx";
import { Link } from "../../parts/link.tsx";
import { Nothing } from "../../parts/notice.tsx";
import { Text } from "../../parts/text.tsx";
import { between, count, duration } from "../../lib/format.ts";
import { kindName, statusName } from "../../lib/otlp.ts";
import { idOf, markOrphan, rowOf, type Tree } from "../../lib/tree.ts";
import { useLive } from "../../live.ts";
import { step } from "../../place.ts";
import type { OtlpSpan, Span, Trace } from "../../types.ts";
import { Attributes, Value } from "./attributes.tsx";

interface Props {
  run: string;
  trace: Trace;
  tree: Tree;
  row: number;
  select: (row: number, how: "step" | "adjust") => void;
}

/** A value that has rested for some ms: held arrow keys do not ask the server for every span. */
function useSettled(value: string, ms: number): string {
  const [settled, set] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => set(value), ms);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

/** How often (ms) a span that is there is asked for again. */
const rarely = 30_000;

/** One span in full, beside the waterfall. */
export function Details({ run, trace, tree, row, select }: Props): JSX.Element {
  const id = useSettled(idOf(tree, row), 80);
  // A span does not change; it is asked for again rarely, for copies that came later.
  const [every, setEvery] = useState(rarely);
  const { data, failure, stale } = useLive<Span>("span", { run, trace: trace.trace_id, id }, every);
  const there = data === null || data.span !== null;
  useEffect(() => setEvery(there ? rarely : 1000), [there]);
  const name = trace.stages[trace.columns.stage[row]!]?.name ?? "";
  return (
    <aside class={`details card ${stale ? "stale" : ""}`} aria-label="The chosen span">
      <div class="details-head">
        <h2>
          <Text value={name} />
        </h2>
        <button type="button" class="close" aria-label="Close the details" title="Close" onClick={() => step({ span: null })}>
          ✕
        </button>
      </div>
      <div class="details-body" tabIndex={0} role="group" aria-label="Details of the span">
        {data === null || data.span === null ? <Nothing failure={failure} what="the span" /> : <Full full={data} span={data.span} trace={trace} tree={tree} row={row} select={select} />}
      </div>
    </aside>
  );
}

function Full({ full, span, trace, tree, row, select }: { full: Span; span: OtlpSpan } & Omit<Props, "run">): JSX.Element {
  const { resource, scope } = full;
  const status = statusName(span.status);
  const start = trace.columns.start_us[row]!;
  const parent = span.parentSpanId ?? "";
  const parentRow = rowOf(tree, parent);
  const whole = JSON.stringify({ resource, scope, span }, null, 2);
  return (
    <>
      {status === "error" && (
        <p class="notice error">
          <b>Error</b>
          {span.status?.message ? (
            <>
              {": "}
              <Value text={span.status.message} />
            </>
          ) : (
            ", without a message"
          )}
        </p>
      )}
      {(tree.marks[row]! & markOrphan) !== 0 && (
        <p class="notice warning">
          The parent of this span (<code>{parent}</code>) never arrived.
        </p>
      )}
      <dl class="pairs">
        <Pair name="Service">
          <Text value={full.service} />
        </Pair>
        <Pair name="Process">
          <Text value={full.process} />
        </Pair>
        <Pair name="Starts">
          {start === 0 ? "with the trace" : `${duration(start * 1000)} into the trace`}
        </Pair>
        <Pair name="Took">
          <b>{duration(full.duration_ns)}</b>
        </Pair>
        <Pair name="From">
          <span class="mono">{full.start}</span>
        </Pair>
        <Pair name="To">
          <span class="mono">{full.end}</span>
        </Pair>
        <Pair name="Kind">{kindName(span.kind)}</Pair>
        <Pair name="Status">{status}</Pair>
        <Pair name="Span id">
          <code>{span.spanId}</code> <Copy text={span.spanId ?? ""} what="the span id" />
        </Pair>
        <Pair name="Parent id">
          {parent === "" ? (
            <span class="muted">none: a root</span>
          ) : parentRow >= 0 ? (
            <button type="button" class="plain-button link mono" title="Go to the parent" onClick={() => select(parentRow, "step")}>
              {parent}
            </button>
          ) : (
            <code>{parent}</code>
          )}
        </Pair>
        {full.copies > 1 && <Pair name="Copies">{count(full.copies)} in the files, counted once</Pair>}
        {span.traceState && (
          <Pair name="Trace state">
            <Value text={span.traceState} />
          </Pair>
        )}
      </dl>
      <div class="actions">
        <Copy text={whole} what="the span as OTLP JSON" label="Copy as JSON" />
        <button type="button" onClick={() => step({ from: Math.max(0, Math.floor(start)), to: Math.ceil(start + Math.max(1, trace.columns.duration_us[row]!)) })}>
          Zoom to it
        </button>
      </div>
      <Section title="Attributes" n={span.attributes?.length ?? 0} dropped={span.droppedAttributesCount}>
        <Attributes attributes={span.attributes} />
      </Section>
      <Events span={span} />
      <Links span={span} run={full.run_id} />
      <Section title="Resource" n={resource?.attributes?.length ?? 0}>
        <Attributes attributes={resource?.attributes} />
      </Section>
      {scope?.name && (
        <Section title="Instrumentation scope">
          <p>
            <Text value={scope.name} /> {scope.version && <Text value={scope.version} class="muted" />}
          </p>
          <Attributes attributes={scope.attributes} />
        </Section>
      )}
      {full.place !== null && (
        <p class="place muted">
          In <Text value={full.place.file} />, in the line at byte {count(full.place.offset)}
        </p>
      )}
    </>
  );
}

function Pair({ name, children }: { name: string; children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Section({ title, n, dropped = 0, children }: { title: string; n?: number; dropped?: number | undefined; children: ComponentChildren }): JSX.Element {
  return (
    <section>
      <h3>
        {title} {n !== undefined && <span class="muted">{count(n)}</span>}
        {dropped > 0 && <small class="muted"> and {count(dropped)} that its SDK dropped</small>}
      </h3>
      {children}
    </section>
  );
}

function Events({ span }: { span: OtlpSpan }): JSX.Element | null {
  const events = span.events ?? [];
  if (events.length === 0 && !span.droppedEventsCount) return null;
  return (
    <Section title="Events" n={events.length} dropped={span.droppedEventsCount}>
      {events.map((event, i) => (
        <details key={i} open={events.length <= 3}>
          <summary>
            <span class="mono muted">{duration(between(span.startTimeUnixNano, event.timeUnixNano))}</span> <Text value={event.name ?? ""} />
          </summary>
          <Attributes attributes={event.attributes} />
        </details>
      ))}
    </Section>
  );
}

function Links({ span, run }: { span: OtlpSpan; run: string }): JSX.Element | null {
  const links = span.links ?? [];
  if (links.length === 0 && !span.droppedLinksCount) return null;
  return (
    <Section title="Links" n={links.length} dropped={span.droppedLinksCount}>
      {links.map((link, i) => (
        <div key={i} class="span-link">
          <Link to="trace" params={{ run, id: link.traceId ?? "", span: link.spanId ?? "" }} class="mono" title="Open the linked span, if it is in this run">
            {link.traceId} / {link.spanId}
          </Link>
          <Attributes attributes={link.attributes} />
        </div>
      ))}
    </Section>
  );
}
