import type { JSX } from "preact";
import { clock, count, counted, duration, millis } from "../../lib/format.ts";
import { roundUp } from "../../lib/ticks.ts";
import type { Rate } from "../../types.ts";

const height = 100;
/** Fewer steps are a moment, of which there is no course to show. */
const fewest = 3;

/** Spans started over the time of a run, those with an error in red. */
export function RateChart({ rate, live }: { rate: Rate | null; live: boolean }): JSX.Element | null {
  if (rate === null || rate.spans.length < fewest) return null;
  const steps = rate.spans.length;
  const most = Math.max(...rate.spans);
  const top = roundUp(most);
  const at = (step: number) => new Date(millis(rate.start) + (step * rate.step_ns) / 1e6).toISOString();
  return (
    <section class="card pad rate">
      <h2>
        Span starts{" "}
        <span class="muted">
          per {duration(rate.step_ns)}, at most {count(most)}
        </span>
      </h2>
      <div class="chart">
        <span class="axis high">{count(top)}</span>
        <span class="axis low">0</span>
        <svg viewBox={`0 0 ${steps} ${height}`} preserveAspectRatio="none" role="img" aria-label={`Span starts over time, at most ${counted(most, "span")} per ${duration(rate.step_ns)}`}>
          <line class="grid" x1="0" x2={steps} y1={height / 2} y2={height / 2} vector-effect="non-scaling-stroke" />
          {rate.spans.map((spans, i) => {
            const bad = rate.errors[i] ?? 0;
            return (
              <g key={i}>
                <title>{`${clock(at(i))}: ${counted(spans, "span")}${bad > 0 ? `, ${counted(bad, "error")}` : ""}`}</title>
                {/* Over the whole height, so that the tooltip is there above low bars too. */}
                <rect class="catch" x={i} y={0} width={1} height={height} />
                <Bar class="bar" step={i} of={spans} top={top} />
                <Bar class="bar bad" step={i} of={bad} top={top} />
              </g>
            );
          })}
        </svg>
      </div>
      <div class="chart-foot muted">
        <span>{clock(rate.start)}</span>
        <span>{live ? "now" : clock(at(steps))}</span>
      </div>
    </section>
  );
}

function Bar({ class: name, step, of, top }: { class: string; step: number; of: number; top: number }): JSX.Element | null {
  if (of === 0) return null;
  // One span beside thousands still shows.
  const tall = Math.max(1.5, (of / top) * height);
  return <rect class={name} x={step + 0.08} y={height - tall} width={0.84} height={tall} />;
}
