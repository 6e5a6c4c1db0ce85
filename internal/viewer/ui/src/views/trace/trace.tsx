import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Copy } from "../../parts/copy.tsx";
import { ErrorCount, LiveBadge } from "../../parts/badges.tsx";
import { Incomplete, Nothing, Notice } from "../../parts/notice.tsx";
import { Text } from "../../parts/text.tsx";
import { When } from "../../parts/when.tsx";
import { palette } from "../../lib/colours.ts";
import { count, counted, duration } from "../../lib/format.ts";
import { ancestors, buildTree, carried, hasChildren, idOf, rowOf, shownRows, type Tree } from "../../lib/tree.ts";
import { useLive } from "../../live.ts";
import { adjust, place, step } from "../../place.ts";
import type { Run, Trace } from "../../types.ts";
import { Details } from "./details.tsx";
import { Overview } from "./overview.tsx";
import { Tools } from "./tools.tsx";
import { Waterfall } from "./waterfall.tsx";

/** One trace. */
export function TraceView(): JSX.Element {
  const params = place.value.params;
  const run = params.get("run");
  const id = params.get("id");
  if (!run || !id) return <Notice kind="error">This address names no trace: it needs run= with a run id and id= with a trace id.</Notice>;
  return <OneTrace run={run} id={id} key={run + "\n" + id} />;
}

function OneTrace({ run, id }: { run: string; id: string }): JSX.Element {
  const service = place.value.params.get("service");
  const { data, failure } = useLive<Trace>("trace", { run, id, service });
  // For its services, which decide the colours on every view of the run, and for whether it lives.
  const ofRun = useLive<Run>("run", { run });
  const names = ofRun.data?.services.map((s) => s.service) ?? data?.processes.map((p) => p.service) ?? [];
  if (data === null) return <Nothing failure={failure} what="the trace" />;
  return (
    <>
      <Title trace={data} live={ofRun.data?.live ?? false} />
      <Incomplete answer={data} partial={data.partial} />
      {data.cut > 0 && <Notice kind="warning">This trace is too long to be sent whole: {counted(data.cut, "span")} at its end are left out.</Notice>}
      {data.columns.parent.length === 0 ? <p class="empty">No span of this trace was read yet.</p> : <Body trace={data} names={names} />}
    </>
  );
}

function Title({ trace, live }: { trace: Trace; live: boolean }): JSX.Element {
  const first = trace.stages[trace.columns.stage[0] ?? -1];
  const jaeger = trace.jaeger_url ?? "";
  return (
    <div class="title trace-title">
      <h1>{first === undefined ? "Trace" : <Text value={first.name} />}</h1>
      {live && <LiveBadge />}
      <code class="trace-id">{trace.trace_id}</code>
      <Copy text={trace.trace_id} what="the trace id" />
      <ul class="facts-line">
        <li>
          <When time={trace.start} />
        </li>
        <li>
          <b>{duration(trace.duration_us * 1000)}</b>
        </li>
        <li>{counted(trace.spans, "span")}</li>
        <li>
          <ErrorCount errors={trace.errors.length} /> {trace.errors.length === 1 ? "error" : "errors"}
        </li>
        {trace.orphans.length > 0 && (
          <li class="badge orphan" title="Spans whose parent never arrived. They stand at the top level.">
            {count(trace.orphans.length)} orphaned
          </li>
        )}
        {trace.duplicates > 0 && <li title="Copies of spans that are in the files more than once">{counted(trace.duplicates, "duplicate")} left out</li>}
        <li>{counted(trace.processes.length, "process", "processes")}</li>
        {/^https?:\/\//.test(jaeger) && (
          <li>
            <a href={jaeger} target="_blank" rel="noreferrer noopener">
              Open in Jaeger ↗
            </a>
          </li>
        )}
      </ul>
    </div>
  );
}

/** The closed rows, kept by span id when a live trace grows. */
function useClosed(tree: Tree): [Set<number>, (closed: Set<number>) => void] {
  const [state, set] = useState<{ tree: Tree; closed: Set<number> }>({ tree, closed: new Set() });
  const current = useMemo(() => (state.tree === tree ? state.closed : carried(state.tree, state.closed, tree)), [state, tree]);
  return [current, (closed) => set({ tree, closed })];
}

function Body({ trace, names }: { trace: Trace; names: string[] }): JSX.Element {
  const params = place.value.params;
  const tree = useMemo(() => buildTree(trace), [trace]);
  const [closed, setClosed] = useClosed(tree);
  const rows = useMemo(() => shownRows(tree, closed), [tree, closed]);
  const selectedId = params.get("span") ?? "";
  const selected = useMemo(() => rowOf(tree, selectedId), [tree, selectedId]);
  const nameKey = names.join("\n");
  const series = useMemo(() => {
    const index = palette(names);
    return trace.stages.map((stage) => index(stage.service));
  }, [trace, nameKey]);
  const frame = zoomed(params, trace.duration_us);
  const [target, setTarget] = useState(-1);

  // A span that was chosen by the address, a search or a jump must not stay hidden in a closed one.
  const opened = useRef("");
  useEffect(() => {
    if (selected < 0 || opened.current === selectedId) return;
    opened.current = selectedId;
    const above = ancestors(tree, selected).filter((row) => closed.has(row));
    if (above.length > 0) setClosed(without(closed, above));
    setTarget(selected);
  }, [selectedId, selected, tree]);

  // Whatever moves the rows or the time keeps the chosen span in sight.
  useEffect(() => setTarget(selected), [frame.from, frame.to, closed.size === 0]);

  function select(row: number, how: "step" | "adjust"): void {
    (how === "step" ? step : adjust)({ span: idOf(tree, row) });
  }
  function toggle(row: number): void {
    if (!hasChildren(tree, row)) return;
    if (closed.has(row)) setClosed(without(closed, [row]));
    else setClosed(new Set(closed).add(row));
  }
  function closeAll(): void {
    const all = new Set<number>();
    for (let row = 0; row < tree.size; row++) if (hasChildren(tree, row)) all.add(row);
    setClosed(all);
  }

  return (
    <div class={`trace-body ${selected >= 0 ? "with-details" : ""}`}>
      <div class="trace-main card">
        <Tools trace={trace} tree={tree} selected={selected} select={select} open={() => setClosed(new Set())} close={closeAll} anyClosed={closed.size > 0} zoomed={params.has("from")} />
        <Overview trace={trace} tree={tree} series={series} frame={frame} jump={(row) => setTarget(row)} />
        <Waterfall
          trace={trace}
          tree={tree}
          rows={rows}
          closed={closed}
          series={series}
          frame={frame}
          selected={selected}
          target={target}
          reached={() => setTarget(-1)}
          select={select}
          toggle={toggle}
        />
      </div>
      {selected >= 0 && <Details run={trace.run_id} trace={trace} tree={tree} row={selected} select={select} />}
    </div>
  );
}

function without(rows: ReadonlySet<number>, less: readonly number[]): Set<number> {
  const rest = new Set(rows);
  for (const row of less) rest.delete(row);
  return rest;
}

/** The part of the trace's time that is in sight (µs). */
export interface Frame {
  from: number;
  to: number;
}

function zoomed(params: URLSearchParams, whole: number): Frame {
  const end = Math.max(1, whole);
  const from = Number(params.get("from") ?? 0);
  const to = Number(params.get("to") ?? end);
  return from >= 0 && to > from && from < end ? { from, to: Math.min(to, end) } : { from: 0, to: end };
}
