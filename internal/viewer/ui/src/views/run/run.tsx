import type { JSX } from "preact";
import { Copy } from "../../parts/copy.tsx";
import { ErrorCount, LiveBadge } from "../../parts/badges.tsx";
import { Link } from "../../parts/link.tsx";
import { Incomplete, Nothing, Notice } from "../../parts/notice.tsx";
import { Text } from "../../parts/text.tsx";
import { When } from "../../parts/when.tsx";
import { palette } from "../../lib/colours.ts";
import { bytes, count, duration, percent } from "../../lib/format.ts";
import { useLive } from "../../live.ts";
import { place, step } from "../../place.ts";
import type { Run } from "../../types.ts";
import { Processes } from "./processes.tsx";
import { RateChart } from "./rate.tsx";
import { Services } from "./services.tsx";
import { StagesSection } from "./stages.tsx";
import { TracesSection } from "./traces.tsx";

/** One run. */
export function RunView(): JSX.Element {
  const run = place.value.params.get("run");
  if (run === null || run === "") return <Notice kind="error">This address names no run: it needs run= with a run id.</Notice>;
  return <OneRun run={run} key={run} />;
}

function OneRun({ run }: { run: string }): JSX.Element {
  const service = place.value.params.get("service");
  // The names of all services, whatever the filter: the colours and the choices come from them.
  const whole = useLive<Run>("run", { run });
  const narrow = useLive<Run>(service === null ? null : "run", { run, service });
  const { data, failure, stale } = service === null ? whole : narrow;
  const services = whole.data?.services.map((s) => s.service) ?? [];
  const colours = palette(services);
  return (
    <>
      <div class="title">
        <h1 class="identity">
          <Text value={run} />
        </h1>
        <Copy text={run} what="the run id" />
        {whole.data?.live && <LiveBadge />}
        {service !== null && (
          <button type="button" class="tag on" title="Show all services" onClick={() => step({ service: null, page: null })}>
            only <Text value={service} /> ✕
          </button>
        )}
      </div>
      {data === null ? (
        <Nothing failure={failure} what="the run" />
      ) : (
        <>
          <Incomplete answer={data} partial={data.partial} />
          <div class={`run-grid ${stale ? "stale" : ""}`}>
            <div class="run-main">
              <Facts run={data} />
              <RateChart rate={data.rate} live={data.live} />
              <StagesSection run={run} service={service} colours={colours} />
              <TracesSection run={run} service={service} services={services} colours={colours} />
            </div>
            <aside class="run-side">
              <MissingSummary run={data} />
              <Services services={whole.data?.services ?? []} colours={colours} />
              <Processes processes={data.processes} colours={colours} />
            </aside>
          </div>
        </>
      )}
    </>
  );
}

function Facts({ run }: { run: Run }): JSX.Element {
  return (
    <dl class="facts card">
      <div>
        <dt>Started</dt>
        <dd>
          <When time={run.first} />
        </dd>
      </div>
      <div>
        <dt>{run.live ? "So far" : "Lasted"}</dt>
        <dd title={`${run.first ?? ""} to ${run.last ?? ""}`}>{duration(run.duration_ns)}</dd>
      </div>
      <div>
        <dt>Spans</dt>
        <dd>{count(run.spans)}</dd>
      </div>
      <div>
        <dt>Traces</dt>
        <dd>{count(run.traces)}</dd>
      </div>
      <div>
        <dt>Errors</dt>
        <dd>
          <ErrorCount errors={run.errors} /> {run.errors > 0 && <small class="muted">{percent(run.errors, run.spans)}</small>}
        </dd>
      </div>
      <div>
        <dt>Processes</dt>
        <dd>{count(run.processes.length)}</dd>
      </div>
      <div>
        <dt>Size</dt>
        <dd>{bytes(run.bytes)}</dd>
      </div>
    </dl>
  );
}

function MissingSummary({ run }: { run: Run }): JSX.Element {
  const { orphans, rootless_traces, duplicates, joined, clock: clocks } = run.missing;
  const rows: [number, string, string, string][] = [
    [orphans, "span whose parent never arrived", "spans whose parent never arrived", ""],
    [rootless_traces, "trace without a root", "traces without a root", ""],
    [duplicates, "span that is there more than once", "spans that are there more than once", "Each counts once"],
    [joined, "span joined by its trace", "spans joined by their trace", "Without a run, in a trace of this run alone"],
    [clocks, "pair of clocks that may differ", "pairs of clocks that may differ", "Processes where children lie outside their parents"],
  ];
  const seen = rows.filter(([n]) => n > 0);
  return (
    <section class="card pad">
      <h2>What is missing</h2>
      {seen.length === 0 ? (
        <p class="muted">Nothing: every parent and every root is there.</p>
      ) : (
        <ul class="plain">
          {seen.map(([n, one, many, title]) => (
            <li key={many} title={title}>
              <b class="figure">{count(n)}</b> {n === 1 ? one : many}
            </li>
          ))}
        </ul>
      )}
      {seen.length > 0 && (
        <Link to="missing" params={{ run: run.run_id, service: place.value.params.get("service") }}>
          See which
        </Link>
      )}
    </section>
  );
}
