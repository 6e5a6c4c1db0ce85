import type { JSX } from "preact";
import { Choice, Field } from "../parts/field.tsx";
import { Copy } from "../parts/copy.tsx";
import { Link } from "../parts/link.tsx";
import { LiveBadge, ErrorCount } from "../parts/badges.tsx";
import { Incomplete, Nothing, Notice } from "../parts/notice.tsx";
import { Head, Pages } from "../parts/table.tsx";
import { Text } from "../parts/text.tsx";
import { When } from "../parts/when.tsx";
import { bytes, count, counted, duration, millis } from "../lib/format.ts";
import { visible } from "../lib/visible.ts";
import { useLive } from "../live.ts";
import { place, step } from "../place.ts";
import type { MissingOfFiles, RunRow, Runs } from "../types.ts";

/** Every run in the files. */
export function RunsView(): JSX.Element {
  const params = place.value.params;
  const asked = {
    q: params.get("q"),
    service: params.get("service"),
    sort: params.get("sort"),
    page: params.get("page"),
  };
  const { data, failure, stale } = useLive<Runs>("runs", asked);
  const filtered = asked.q !== null || asked.service !== null;
  if (data === null) return <Nothing failure={failure} what="the runs" />;
  const services = [...new Set(data.runs.flatMap((run) => run.services))].sort();
  return (
    <>
      <div class="title">
        <h1>Runs</h1>
        <span class="muted">
          {filtered ? `${count(data.matched)} match` : counted(data.matched, "run")}
          {data.runs.some((run) => run.live) && `, ${data.runs.filter((run) => run.live).length} live`}
        </span>
      </div>
      {data.matched === 0 && !filtered ? (
        <FirstRun answer={data} />
      ) : (
        <>
          <Incomplete answer={data} />
          <Problems />
          <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
            <Field param="q" label="Search" placeholder="Part of a run id or service" class="wide" />
            <Choice param="service" label="Service" all="All services" values={services} />
            {filtered && (
              <button type="button" onClick={() => step({ q: null, service: null, page: null })}>
                Clear
              </button>
            )}
          </form>
          <div class={`card scroll ${stale ? "stale" : ""}`}>
            <table class="list runs">
              <thead>
                <tr>
                  <Head by="run_id" initial="-last" ascendingFirst>
                    Run
                  </Head>
                  <Head initial="-last">Services</Head>
                  <Head by="first" initial="-last" number>
                    Started
                  </Head>
                  <Head initial="-last" number title="From the start of the first span to the end of the last">
                    Duration
                  </Head>
                  <Head by="last" initial="-last" number title="End of the latest span">
                    Last span
                  </Head>
                  <Head by="spans" initial="-last" number>
                    Spans
                  </Head>
                  <Head by="traces" initial="-last" number>
                    Traces
                  </Head>
                  <Head by="errors" initial="-last" number>
                    Errors
                  </Head>
                  <Head initial="-last" number title="Pods, hosts or instances">
                    Processes
                  </Head>
                  <Head by="bytes" initial="-last" number title="Bytes of the lines that hold its spans">
                    Size
                  </Head>
                </tr>
              </thead>
              <tbody>
                {data.runs.map((run) => (
                  <Row run={run} key={run.run_id} service={asked.service} />
                ))}
              </tbody>
            </table>
            {data.runs.length === 0 && <p class="empty">No run matches. Clear the filters to see all.</p>}
          </div>
          <Pages shown={data.runs.length} matched={data.matched} next={data.next} what="runs" />
        </>
      )}
    </>
  );
}

/** So many services of a run are named in the table. */
const some = 2;

function Row({ run, service }: { run: RunRow; service: string | null }): JSX.Element {
  return (
    <tr>
      <th scope="row" class="name">
        <span class="line">
          <Link to="run" params={{ run: run.run_id, service }} title={visible(run.run_id)}>
            <Text value={run.run_id} />
          </Link>
          {run.live && <LiveBadge />}
        </span>
      </th>
      <td class="tags">
        {run.services.slice(0, some).map((name) => (
          <button type="button" class="tag" key={name} title={`Only runs of ${visible(name)}`} onClick={() => step({ service: name, page: null })}>
            <Text value={name} />
          </button>
        ))}
        {run.services.length > some && (
          <span class="muted" title={run.services.map(visible).join("\n")}>
            +{run.services.length - some}
          </span>
        )}
      </td>
      <td class="number">
        <When time={run.first} />
      </td>
      <td class="number">{duration((millis(run.last) - millis(run.first)) * 1e6)}</td>
      <td class="number">
        <When time={run.last} since />
      </td>
      <td class="number">{count(run.spans)}</td>
      <td class="number">{count(run.traces)}</td>
      <td class="number">
        <ErrorCount errors={run.errors} />
      </td>
      <td class="number">{count(run.processes)}</td>
      <td class="number">{bytes(run.bytes)}</td>
    </tr>
  );
}

/** What the files hold that is in no run: said where one would look for it. */
function Problems(): JSX.Element | null {
  const { data } = useLive<MissingOfFiles>("missing", { limit: 100 }, 5000);
  if (data === null) return null;
  const parts: string[] = [];
  const spans = data.no_run.reduce((sum, sender) => sum + sender.spans, 0);
  if (spans > 0) parts.push(`${counted(spans, "span")} of ${counted(data.no_run.length, "sender")} belong to no run`);
  if (data.bad_lines.count > 0) parts.push(`${counted(data.bad_lines.count, "line")} could not be read`);
  const problems = data.files.filter((file) => file.problem !== "").length;
  if (problems > 0) parts.push(`${counted(problems, "file")} ${problems === 1 ? "has" : "have"} a problem`);
  if (parts.length === 0) return null;
  return (
    <Notice kind="warning">
      {parts.join("; ")}. <Link to="missing">See what is missing</Link>
    </Notice>
  );
}

/** What to type for a first run to show up. */
function FirstRun({ answer }: { answer: Runs }): JSX.Element {
  const host = location.hostname || "127.0.0.1";
  const environment = [
    `export OTEL_EXPORTER_OTLP_ENDPOINT=http://${host}:4318`,
    "export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
    "export OTEL_SERVICE_NAME=trainer",
    "export OTEL_RESOURCE_ATTRIBUTES=run.id=my-first-run",
  ].join("\n");
  // Without an endpoint it would start a collector of its own, whose file is none of this page's.
  const wrapped = `runspan exec --endpoint http://${host}:4317 --service-name trainer -- python train.py`;
  return (
    <div class="first-run">
      <div class="waiting">
        <span class="pulse" aria-hidden="true" />
        <div>
          <h2>{answer.state === "ready" ? "No run yet" : answer.state === "reading" ? "Reading the files" : "Waiting for the first span"}</h2>
          <p class="muted">
            {answer.reason === "" ? (
              "The files hold no span of a run."
            ) : (
              <>
                The server says: <Text value={answer.reason} />.
              </>
            )}{" "}
            A run shows here as soon as its first span is there.
          </p>
        </div>
      </div>
      <Problems />
      <section class="card pad">
        <div class="section-head">
          <h3>Send spans from any program with OpenTelemetry in it</h3>
          <Copy text={environment} what="the lines" />
        </div>
        <pre tabIndex={0}>
          <code>{environment}</code>
        </pre>
        <p class="muted">
          The collector takes OTLP over HTTP on port 4318 and over gRPC on port 4317, where it listens by default. A run is what <code>run.id</code> says.
        </p>
      </section>
      <section class="card pad">
        <div class="section-head">
          <h3>Or let Runspan set all of it for a program</h3>
          <Copy text={wrapped} what="the line" />
        </div>
        <pre tabIndex={0}>
          <code>{wrapped}</code>
        </pre>
        <p class="muted">It gives the program a run id and the endpoint by its environment, in any language.</p>
      </section>
    </div>
  );
}
