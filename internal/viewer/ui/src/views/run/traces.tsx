import type { JSX } from "preact";
import { ErrorCount, Service } from "../../parts/badges.tsx";
import { Choice, Field } from "../../parts/field.tsx";
import { Link } from "../../parts/link.tsx";
import { Nothing } from "../../parts/notice.tsx";
import { Head, Pages } from "../../parts/table.tsx";
import { Text } from "../../parts/text.tsx";
import { When } from "../../parts/when.tsx";
import { colour } from "../../lib/colours.ts";
import { count, duration, shortId } from "../../lib/format.ts";
import { visible } from "../../lib/visible.ts";
import { useLive } from "../../live.ts";
import { place, step } from "../../place.ts";
import type { TraceRow, Traces } from "../../types.ts";

interface Props {
  run: string;
  service: string | null;
  services: string[];
  colours: (service: string) => number;
}

/** What an input of milliseconds asks for; nothing while it holds no number. */
function number(text: string | null): string | null {
  return text !== null && text.trim() !== "" && Number(text) >= 0 ? text : null;
}

/** The traces of a run, searched, filtered, sorted and in pages. */
export function TracesSection({ run, service, services, colours }: Props): JSX.Element {
  const params = place.value.params;
  const errors = params.get("errors") === "true";
  const filters = { q: params.get("q"), min_ms: number(params.get("min_ms")), max_ms: number(params.get("max_ms")) };
  const { data, failure, stale } = useLive<Traces>("traces", {
    run,
    service,
    ...filters,
    errors: errors ? "true" : null,
    sort: params.get("sort"),
    page: params.get("page"),
  });
  const filtered = errors || Object.values(filters).some((value) => value !== null);
  const longest = Math.max(1, ...(data?.traces ?? []).map((trace) => trace.duration_ns));
  return (
    <section class={`card ${stale ? "stale" : ""}`} id="traces">
      <div class="section-head pad">
        <h2>
          Traces <span class="muted">{data !== null && (filtered ? `${count(data.matched)} match` : count(data.matched))}</span>
        </h2>
      </div>
      <form class="filters pad" role="search" onSubmit={(event) => event.preventDefault()}>
        <Field param="q" label="Search" placeholder="Span name, attribute value or trace id" class="wide" />
        {services.length > 1 && <Choice param="service" label="Service" all="All services" values={services} />}
        <Field param="min_ms" label="At least, ms" type="number" />
        <Field param="max_ms" label="At most, ms" type="number" />
        <label class="check">
          <input type="checkbox" name="errors" checked={errors} onChange={() => step({ errors: errors ? null : "true", page: null })} />
          <span>With errors only</span>
        </label>
        {filtered && (
          <button type="button" onClick={() => step({ q: null, min_ms: null, max_ms: null, errors: null, page: null })}>
            Clear
          </button>
        )}
      </form>
      {data === null ? (
        <Nothing failure={failure} what="the traces" />
      ) : (
        <>
          <div class="scroll">
            <table class="list traces">
              <thead>
                <tr>
                  <Head by="start" initial="-start">
                    Start
                  </Head>
                  <Head initial="-start">Root</Head>
                  <Head initial="-start">Trace</Head>
                  <Head by="duration" initial="-start" class="duration">
                    Duration
                  </Head>
                  <Head by="spans" initial="-start" number>
                    Spans
                  </Head>
                  <Head by="errors" initial="-start" number>
                    Errors
                  </Head>
                </tr>
              </thead>
              <tbody>
                {data.traces.map((trace) => (
                  <Row key={trace.trace_id} trace={trace} run={run} longest={longest} colours={colours} />
                ))}
              </tbody>
            </table>
            {data.traces.length === 0 && <p class="empty">{filtered ? "No trace matches. Clear the filters to see all." : "No trace was read yet."}</p>}
          </div>
          <Pages shown={data.traces.length} matched={data.matched} next={data.next} what="traces" />
        </>
      )}
    </section>
  );
}

function Row({ trace, run, longest, colours }: { trace: TraceRow; run: string; longest: number; colours: (s: string) => number }): JSX.Element {
  const to = { run, id: trace.trace_id };
  const index = colours(trace.root_service);
  return (
    <tr>
      <td class="nowrap">
        <When time={trace.start} />
      </td>
      <th scope="row" class="name">
        <Link to="trace" params={to} title={`${visible(trace.root)}\n${trace.services.map(visible).join(", ")}`}>
          <Text value={trace.root} />
        </Link>
        {!trace.has_root && (
          <span class="badge orphan" title="The root of this trace never arrived: this is its earliest span whose parent is missing">
            no root
          </span>
        )}
        {trace.has_root && trace.orphans > 0 && (
          <span class="badge orphan" title="Spans whose parent never arrived">
            {count(trace.orphans)} orphaned
          </span>
        )}
        <small class="block">
          <Service name={trace.root_service} index={index} />
          {trace.services.length > 1 && <span class="muted"> +{trace.services.length - 1}</span>}
        </small>
      </th>
      <td>
        <Link to="trace" params={to} class="mono" title={trace.trace_id}>
          {shortId(trace.trace_id)}
        </Link>
      </td>
      <td class="duration">
        <span class="figure">{duration(trace.duration_ns)}</span>
        <svg class="share" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true" style={{ color: colour(index) }}>
          <rect width={Math.max(0.6, (trace.duration_ns / longest) * 100)} height="4" />
        </svg>
      </td>
      <td class="number">{count(trace.spans)}</td>
      <td class="number">
        <ErrorCount errors={trace.errors} />
      </td>
    </tr>
  );
}
