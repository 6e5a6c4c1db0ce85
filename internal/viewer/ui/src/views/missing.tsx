import type { ComponentChildren, JSX } from "preact";
import { Choice } from "../parts/field.tsx";
import { Link } from "../parts/link.tsx";
import { Incomplete, Nothing } from "../parts/notice.tsx";
import { Text } from "../parts/text.tsx";
import { When } from "../parts/when.tsx";
import { bytes, count, counted, duration } from "../lib/format.ts";
import { useLive } from "../live.ts";
import { place } from "../place.ts";
import type { ClockRow, MissingOfFiles, MissingOfRun, Run } from "../types.ts";

/** So many examples of each are asked for. */
const examples = 100;

/** What is missing: of one run where the address names one, and of the files. */
export function MissingView(): JSX.Element {
  const run = place.value.params.get("run");
  return (
    <>
      {run !== null && run !== "" && <OfRun run={run} key={run} />}
      <OfFiles />
    </>
  );
}

function OfRun({ run }: { run: string }): JSX.Element {
  const service = place.value.params.get("service");
  const { data, failure } = useLive<MissingOfRun>("missing", { run, service, limit: examples });
  const whole = useLive<Run>("run", { run });
  return (
    <>
      <div class="title">
        <h1>
          What is missing from{" "}
          <Link to="run" params={{ run, service }}>
            <Text value={run} />
          </Link>
        </h1>
        {whole.data !== null && whole.data.services.length > 1 && <Choice param="service" label="Service" all="All services" values={whole.data.services.map((s) => s.service)} />}
      </div>
      {data === null ? (
        <Nothing failure={failure} what="what is missing" />
      ) : (
        <>
          <Incomplete answer={data} partial={data.partial} />
          <Orphans run={run} orphans={data.orphans} />
          <Rootless run={run} rootless={data.rootless_traces} />
          <Duplicates run={run} duplicates={data.duplicates} />
          <Part title={data.joined.count === 1 ? "span joined by its trace" : "spans joined by their trace"} n={data.joined.count} good="Every span names its run itself.">
            <p>
              {counted(data.joined.count, "span")} came without a run, but in a trace that only this run has spans of. {data.joined.count === 1 ? "It counts" : "They count"} here.
            </p>
          </Part>
          <Clocks run={run} clocks={data.clock} />
        </>
      )}
    </>
  );
}

interface PartProps {
  title: string;
  n: number;
  /** What is said where nothing is missing. */
  good: string;
  children: ComponentChildren;
}

/** One kind of what can be missing. */
function Part({ title, n, good, children }: PartProps): JSX.Element {
  return (
    <section class={`card missing-part ${n === 0 ? "good" : ""}`}>
      <h2>
        {n === 0 ? (
          <span class="tick-mark" aria-hidden="true">
            ✓
          </span>
        ) : (
          <span class="figure">{count(n)}</span>
        )}{" "}
        {n === 0 ? title.charAt(0).toUpperCase() + title.slice(1) : title}
      </h2>
      {n === 0 ? <p class="muted">{good}</p> : children}
    </section>
  );
}

function Shown({ shown, of }: { shown: number; of: number }): JSX.Element | null {
  return shown < of ? (
    <p class="muted pad">
      The first {count(shown)} of {count(of)}.
    </p>
  ) : null;
}

function Orphans({ run, orphans }: { run: string; orphans: MissingOfRun["orphans"] }): JSX.Element {
  return (
    <Part title={orphans.count === 1 ? "span whose parent never arrived" : "spans whose parent never arrived"} n={orphans.count} good="Every parent that a span names is here.">
      <p>
        Each names a parent that is in no file. Its process may have ended before it sent the parent, the parent may still be running, or it may be sent to another place. In the trace they stand at the
        top level.
      </p>
      <div class="scroll">
        <table class="list">
          <thead>
            <tr>
              <th scope="col">Span</th>
              <th scope="col">Service</th>
              <th scope="col">Missing parent</th>
              <th scope="col">Trace</th>
            </tr>
          </thead>
          <tbody>
            {orphans.spans.map((span) => (
              <tr key={span.trace_id + span.span_id}>
                <th scope="row" class="name">
                  <Link to="trace" params={{ run, id: span.trace_id, span: span.span_id }}>
                    <Text value={span.name} />
                  </Link>
                </th>
                <td>
                  <Text value={span.service} />
                </td>
                <td class="mono">{span.parent_span_id}</td>
                <td class="mono">{span.trace_id}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Shown shown={orphans.spans.length} of={orphans.count} />
    </Part>
  );
}

function Rootless({ run, rootless }: { run: string; rootless: MissingOfRun["rootless_traces"] }): JSX.Element {
  return (
    <Part title={rootless.count === 1 ? "trace without a root" : "traces without a root"} n={rootless.count} good="Every trace has its root.">
      <p>No span without a parent arrived for these: what started them has not ended, or was not sent.</p>
      <ul class="ids">
        {rootless.traces.map((trace) => (
          <li key={trace.trace_id}>
            <Link to="trace" params={{ run, id: trace.trace_id }} class="mono">
              {trace.trace_id}
            </Link>
          </li>
        ))}
      </ul>
      <Shown shown={rootless.traces.length} of={rootless.count} />
    </Part>
  );
}

function Duplicates({ run, duplicates }: { run: string; duplicates: MissingOfRun["duplicates"] }): JSX.Element {
  return (
    <Part title={duplicates.count === 1 ? "span that is there more than once" : "spans that are there more than once"} n={duplicates.count} good="Every span is in the files once.">
      <p>The same trace id and span id again: most often a client that sent a request a second time after a time-out. Each counts once.</p>
      <ul class="ids">
        {duplicates.spans.map((span) => (
          <li key={span.trace_id + span.span_id}>
            <Link to="trace" params={{ run, id: span.trace_id, span: span.span_id }} class="mono">
              {span.span_id}
            </Link>{" "}
            <span class="muted">{count(span.copies)} copies</span>
          </li>
        ))}
      </ul>
      <Shown shown={duplicates.spans.length} of={duplicates.count} />
    </Part>
  );
}

function Clocks({ run, clocks }: { run: string; clocks: ClockRow[] }): JSX.Element {
  return (
    <Part title={clocks.length === 1 ? "pair of processes whose clocks may differ" : "pairs of processes whose clocks may differ"} n={clocks.length} good="No process has spans that begin before their parents in another process.">
      <p>Times are shown as they were sent: nothing is corrected. A child that ends after its parent can also be work that the parent did not wait for.</p>
      <ul class="plain sentences">
        {clocks.map((row) => (
          <li key={row.process + "\n" + row.against}>
            <ClockSentence row={row} />{" "}
            <Link to="trace" params={{ run, id: row.example.trace_id, span: row.example.span_id }}>
              An example
            </Link>
          </li>
        ))}
      </ul>
    </Part>
  );
}

function ClockSentence({ row }: { row: ClockRow }): JSX.Element {
  const before = row.before_ns > 0 && `begin up to ${duration(row.before_ns)} before them`;
  const after = row.after_ns > 0 && `end up to ${duration(row.after_ns)} after them`;
  return (
    <>
      <b>
        <Text value={row.process} />
      </b>{" "}
      against{" "}
      <b>
        <Text value={row.against} />
      </b>
      : of {counted(row.pairs, "child", "children")} with a parent there, {count(row.outside)} {row.outside === 1 ? "lies" : "lie"} outside it: they {[before, after].filter(Boolean).join(" and ")}.
    </>
  );
}

function OfFiles(): JSX.Element {
  const { data, failure } = useLive<MissingOfFiles>("missing", { limit: examples });
  return (
    <>
      <div class="title">
        <h1>What is missing from the files</h1>
      </div>
      {data === null ? (
        <Nothing failure={failure} what="the files" />
      ) : (
        <>
          <Incomplete answer={data} />
          <NoRun senders={data.no_run} />
          <BadLines lines={data.bad_lines} />
          <Files files={data.files} />
        </>
      )}
    </>
  );
}

function NoRun({ senders }: { senders: MissingOfFiles["no_run"] }): JSX.Element {
  return (
    <Part title={senders.length === 1 ? "sender of spans without a run" : "senders of spans without a run"} n={senders.length} good="Every span belongs to a run.">
      <p>
        Their spans carry no <code>run.id</code>, so that no run shows them. Set <code>OTEL_RESOURCE_ATTRIBUTES=run.id=...</code> for these processes, or let <code>runspan exec</code> set it.
      </p>
      <div class="scroll">
        <table class="list">
          <thead>
            <tr>
              <th scope="col">Service</th>
              <th scope="col">Process</th>
              <th scope="col" class="number">
                Spans
              </th>
              <th scope="col" class="number">
                Last
              </th>
            </tr>
          </thead>
          <tbody>
            {senders.map((sender) => (
              <tr key={sender.service + "\n" + sender.process}>
                <th scope="row">
                  <Text value={sender.service} />
                </th>
                <td>
                  <Text value={sender.process} />
                </td>
                <td class="number">{count(sender.spans)}</td>
                <td class="number">
                  <When time={sender.last} since />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Part>
  );
}

function BadLines({ lines }: { lines: MissingOfFiles["bad_lines"] }): JSX.Element {
  return (
    <Part title={lines.count === 1 ? "line that could not be read" : "lines that could not be read"} n={lines.count} good="Every line could be read.">
      <p>
        They are stepped over; every other line counts. <code>runspan repair</code> takes them out of a file.
      </p>
      <div class="scroll">
        <table class="list">
          <thead>
            <tr>
              <th scope="col">File</th>
              <th scope="col" class="number">
                At byte
              </th>
              <th scope="col" class="number">
                Length
              </th>
              <th scope="col">Why</th>
            </tr>
          </thead>
          <tbody>
            {lines.lines.map((line) => (
              <tr key={line.file + "\n" + line.offset}>
                <th scope="row">
                  <Text value={line.file} />
                </th>
                <td class="number">{count(line.offset)}</td>
                <td class="number">{bytes(line.bytes)}</td>
                <td class="wrap">
                  <Text value={line.reason} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Shown shown={lines.lines.length} of={lines.count} />
    </Part>
  );
}

function Files({ files }: { files: MissingOfFiles["files"] }): JSX.Element {
  return (
    <section class="card missing-part">
      <h2>Files</h2>
      {files.length === 0 ? (
        <p class="muted">No file is there yet.</p>
      ) : (
        <div class="scroll">
          <table class="list">
            <thead>
              <tr>
                <th scope="col">File</th>
                <th scope="col" class="number">
                  Size
                </th>
                <th scope="col" class="number">
                  Not read yet
                </th>
                <th scope="col">Problem</th>
              </tr>
            </thead>
            <tbody>
              {files.map((file) => (
                <tr key={file.file}>
                  <th scope="row">
                    <Text value={file.file} />
                  </th>
                  <td class="number">{bytes(file.bytes)}</td>
                  <td class="number">{file.read < file.bytes ? bytes(file.bytes - file.read) : <span class="muted">0 B</span>}</td>
                  <td class="wrap">{file.problem === "" ? <span class="muted">none</span> : <Text value={file.problem} />}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
