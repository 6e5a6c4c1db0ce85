import type { JSX } from "preact";
import { ErrorCount } from "../../parts/badges.tsx";
import { Nothing } from "../../parts/notice.tsx";
import { Head } from "../../parts/table.tsx";
import { Text } from "../../parts/text.tsx";
import { colour } from "../../lib/colours.ts";
import { count, decade, duration } from "../../lib/format.ts";
import { logTicks } from "../../lib/ticks.ts";
import { visible } from "../../lib/visible.ts";
import { useLive } from "../../live.ts";
import { place, step } from "../../place.ts";
import type { Stage, Stages } from "../../types.ts";

interface Props {
  run: string;
  service: string | null;
  colours: (service: string) => number;
}

const some = 10;
const all = 1000;

/** The stages of a run: span names with how long they take. */
export function StagesSection({ run, service, colours }: Props): JSX.Element {
  const params = place.value.params;
  const wide = params.get("stages") === "all";
  const { data, failure, stale } = useLive<Stages>("stages", { run, service, sort: params.get("stage_sort"), limit: wide ? all : some });
  if (data === null) return <Nothing failure={failure} what="the stages" />;
  const scale = logScale(data.stages);
  return (
    <section class={`card ${stale ? "stale" : ""}`}>
      <div class="section-head pad">
        <h2>
          Stages <span class="muted">{count(data.matched)}</span>
        </h2>
        <ul class="legend muted" aria-label="Legend of the bars">
          <li class="to-p50">to p50</li>
          <li class="to-p95">to p95</li>
          <li class="to-p99">to p99</li>
          <li class="to-max">to max</li>
          <li>logarithmic</li>
        </ul>
      </div>
      <div class="scroll">
        <table class="list stages">
          <thead>
            <tr>
              <StageHead by="name" ascendingFirst>
                Stage
              </StageHead>
              <StageHead by="count" number>
                Count
              </StageHead>
              <StageHead by="errors" number>
                Errors
              </StageHead>
              <th scope="col" class="plot">
                <svg class="ticks" width="100%" height="16" aria-hidden="true">
                  {scale.ticks.map((tick) => (
                    <text key={tick} x={`${scale.at(tick)}%`} y="12" text-anchor={scale.at(tick) < 5 ? "start" : scale.at(tick) > 95 ? "end" : "middle"}>
                      {decade(tick)}
                    </text>
                  ))}
                </svg>
                <span class="off-screen">Distribution</span>
              </th>
              <StageHead by="p50" number>
                p50
              </StageHead>
              <StageHead by="p95" number>
                p95
              </StageHead>
              <StageHead by="p99" number>
                p99
              </StageHead>
              <StageHead by="max" number>
                max
              </StageHead>
              <StageHead by="sum" number title="Of all spans of the stage together">
                Total
              </StageHead>
            </tr>
          </thead>
          <tbody>
            {data.stages.map((stage) => (
              <tr key={stage.service + "\n" + stage.name}>
                <th scope="row" class="name" title={`${visible(stage.name)}\n${visible(stage.service)}`}>
                  <span class="swatch" style={{ background: colour(colours(stage.service)) }} aria-hidden="true" />
                  <button type="button" class="plain-button link" onClick={() => step({ q: stage.name, page: null })} title={`Traces with ${visible(stage.name)}`}>
                    <Text value={stage.name} />
                  </button>
                </th>
                <td class="number">{count(stage.count)}</td>
                <td class="number">
                  <ErrorCount errors={stage.errors} />
                </td>
                <td class="plot">
                  <Spread stage={stage} scale={scale} series={colours(stage.service)} />
                </td>
                <td class="number">{duration(stage.p50_ns)}</td>
                <td class="number">{duration(stage.p95_ns)}</td>
                <td class="number">{duration(stage.p99_ns)}</td>
                <td class="number">{duration(stage.max_ns)}</td>
                <td class="number">{duration(stage.sum_ns)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {data.stages.length === 0 && <p class="empty">No span of this run was read yet.</p>}
      </div>
      {data.matched > some && (
        <button type="button" class="more" onClick={() => step({ stages: wide ? null : "all" })}>
          {wide ? "Show fewer" : `Show all ${count(data.matched)}`}
        </button>
      )}
      {wide && data.next !== "" && <p class="pad muted">The first {all} are shown.</p>}
    </section>
  );
}

function StageHead(props: { by: string; number?: boolean; ascendingFirst?: boolean; title?: string; children: string }): JSX.Element {
  return <Head {...props} initial="-sum" param="stage_sort" />;
}

interface Scale {
  /** Where a duration stands, in percent of the width. */
  at: (ns: number) => number;
  ticks: number[];
}

function logScale(stages: readonly Stage[]): Scale {
  let low = Infinity;
  let high = 1;
  for (const stage of stages) {
    low = Math.min(low, Math.max(1, stage.p50_ns));
    high = Math.max(high, stage.max_ns);
  }
  // A little below the shortest, whose bar would have no length otherwise.
  const from = Math.floor(Math.log10(Math.min(low, high) * 0.7));
  const to = Math.max(from + 1, Math.ceil(Math.log10(high)));
  return {
    at: (ns) => Math.max(0, Math.min(100, ((Math.log10(Math.max(1, ns)) - from) / (to - from)) * 100)),
    ticks: logTicks(10 ** from, 10 ** to, 4),
  };
}

function Spread({ stage, scale, series }: { stage: Stage; scale: Scale; series: number }): JSX.Element {
  const [p50, p95, p99, max] = [stage.p50_ns, stage.p95_ns, stage.p99_ns, stage.max_ns].map(scale.at) as [number, number, number, number];
  const label = `p50 ${duration(stage.p50_ns)}, p95 ${duration(stage.p95_ns)}, p99 ${duration(stage.p99_ns)}, max ${duration(stage.max_ns)}`;
  return (
    <svg class="spread" viewBox="0 0 100 16" preserveAspectRatio="none" role="img" aria-label={label} style={{ color: colour(series) }}>
      <title>{label}</title>
      {scale.ticks.map((tick) => (
        <line key={tick} class="grid" x1={scale.at(tick)} x2={scale.at(tick)} y1="0" y2="16" vector-effect="non-scaling-stroke" />
      ))}
      <rect class="to-p50" x="0" y="4" width={p50} height="8" />
      <rect class="to-p95" x={p50} y="4" width={p95 - p50} height="8" />
      <rect class="to-p99" x={p95} y="4" width={p99 - p95} height="8" />
      <line class="to-max" x1={p99} x2={max} y1="8" y2="8" vector-effect="non-scaling-stroke" />
      <line class="mark" x1={p50} x2={p50} y1="2" y2="14" vector-effect="non-scaling-stroke" />
      <line class="to-max" x1={max} x2={max} y1="4" y2="12" vector-effect="non-scaling-stroke" />
    </svg>
  );
}
