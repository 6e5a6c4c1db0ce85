import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Text } from "../../parts/text.tsx";
import { colour } from "../../lib/colours.ts";
import { counted, duration, mark } from "../../lib/format.ts";
import { timeTicks } from "../../lib/ticks.ts";
import { hasChildren, markError, markOrphan, positionOf, type Tree } from "../../lib/tree.ts";
import { visible } from "../../lib/visible.ts";
import { place } from "../../place.ts";
import type { Trace } from "../../types.ts";
import { matchesOf } from "./tools.tsx";
import type { Frame } from "./trace.tsx";

interface Props {
  trace: Trace;
  tree: Tree;
  /** The rows that no closed one hides. */
  rows: Int32Array;
  closed: ReadonlySet<number>;
  /** The colour of each stage. */
  series: number[];
  frame: Frame;
  /** The chosen row; -1 for none. */
  selected: number;
  /** A row to bring into sight; -1 for none. */
  target: number;
  reached: () => void;
  select: (row: number, how: "step" | "adjust") => void;
  toggle: (row: number) => void;
}

/** Heights in px, as app.css has them. */
const rowHeight = 26;
const headHeight = 28;
/** Rows drawn beyond the edges, so that a fast wheel does not outrun the drawing. */
const margin = 16;
/** More marks would run into each other on a laptop with the details open. */
const mostTicks = 5;
/** The part of the width (percent) that the label of a mark needs beside it. */
const tickRoom = 15;
/** Deeper levels are not moved in further: their names would be pushed out of sight. */
const deepestIndent = 20;

/** The spans of a trace on their time. Only the rows in sight are in the document. */
export function Waterfall(props: Props): JSX.Element {
  const { trace, tree, rows, closed, series, frame, selected, target, reached, select, toggle } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [sight, setSight] = useState({ top: 0, height: 600 });
  const find = place.value.params.get("find") ?? "";
  const matches = useMemo(() => matchesOf(trace, find), [trace, find]);

  useLayoutEffect(() => {
    const element = scroller.current!;
    const measure = () => setSight({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    measure();
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, []);

  useLayoutEffect(() => {
    if (target < 0) return;
    reveal(positionOf(rows, target), "middle");
    reached();
  }, [target, rows]);

  function reveal(position: number, where: "edge" | "middle"): void {
    const element = scroller.current!;
    const top = position * rowHeight;
    const room = element.clientHeight - headHeight;
    if (top >= element.scrollTop && top + rowHeight <= element.scrollTop + room) return;
    if (where === "middle") element.scrollTop = top - room / 2;
    else if (top < element.scrollTop) element.scrollTop = top;
    else element.scrollTop = top + rowHeight - room;
  }

  function onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = selected < 0 ? -1 : positionOf(rows, selected);
    const page = Math.max(1, Math.floor((sight.height - headHeight) / rowHeight) - 1);
    let to: number;
    switch (event.key) {
      case "ArrowDown":
        to = at + 1;
        break;
      case "ArrowUp":
        to = at - 1;
        break;
      case "PageDown":
        to = at + page;
        break;
      case "PageUp":
        to = at - page;
        break;
      case "Home":
        to = 0;
        break;
      case "End":
        to = rows.length - 1;
        break;
      case "ArrowLeft":
        if (at < 0) return;
        event.preventDefault();
        if (hasChildren(tree, selected) && !closed.has(selected)) return toggle(selected);
        if (tree.parent[selected]! < 0) return;
        to = positionOf(rows, tree.parent[selected]!);
        break;
      case "ArrowRight":
        if (at < 0) return;
        event.preventDefault();
        if (closed.has(selected)) return toggle(selected);
        if (!hasChildren(tree, selected)) return;
        to = at + 1;
        break;
      case "Enter":
      case " ":
        if (at < 0) return;
        event.preventDefault();
        return toggle(selected);
      default:
        return;
    }
    event.preventDefault();
    to = Math.max(0, Math.min(rows.length - 1, to));
    reveal(to, "edge");
    select(rows[to]!, "adjust");
  }

  const first = Math.max(0, Math.floor(sight.top / rowHeight) - margin);
  const last = Math.min(rows.length, Math.ceil((sight.top + sight.height) / rowHeight) + margin);
  const ticks = timeTicks(frame.from * 1000, frame.to * 1000, mostTicks);
  const at = (us: number) => ((us - frame.from) / (frame.to - frame.from)) * 100;
  const drawn: JSX.Element[] = [];
  for (let position = first; position < last; position++) {
    const row = rows[position]!;
    drawn.push(
      <Row
        key={row}
        trace={trace}
        tree={tree}
        row={row}
        position={position}
        series={series[trace.columns.stage[row]!] ?? -1}
        at={at}
        open={!closed.has(row)}
        chosen={row === selected}
        dimmed={matches !== null && matches[trace.columns.stage[row]!] === 0}
        select={select}
        toggle={toggle}
      />,
    );
  }
  const chosenInSight = selected >= 0 && rows[positionOf(rows, selected)] === selected;
  return (
    <div
      class="waterfall"
      ref={scroller}
      tabIndex={0}
      role="treegrid"
      aria-label={`Spans of the trace: ${counted(tree.size, "row")}. Arrow keys move, left and right close and open.`}
      aria-rowcount={rows.length}
      aria-activedescendant={chosenInSight ? `row-${selected}` : undefined}
      onKeyDown={onKey}
    >
      <div class="waterfall-head" role="presentation">
        <div class="name-cell">Span</div>
        <div class="time-cell">
          {ticks.map((tick) => (
            <span key={tick} class="tick" style={{ left: `${at(tick / 1000)}%` }}>
              {at(tick / 1000) <= 100 - tickRoom && mark(tick, ticks.length > 1 ? ticks[1]! - ticks[0]! : tick)}
            </span>
          ))}
        </div>
      </div>
      <div class="waterfall-rows" role="rowgroup" style={{ height: `${rows.length * rowHeight}px` }}>
        <div class="grid-lines" role="presentation">
          <div class="name-cell" />
          <div class="time-cell">
            {ticks.map((tick) => (
              <span key={tick} class="grid-line" style={{ left: `${at(tick / 1000)}%` }} />
            ))}
          </div>
        </div>
        {drawn}
      </div>
    </div>
  );
}

interface RowProps {
  trace: Trace;
  tree: Tree;
  row: number;
  position: number;
  series: number;
  at: (us: number) => number;
  open: boolean;
  chosen: boolean;
  dimmed: boolean;
  select: (row: number, how: "step" | "adjust") => void;
  toggle: (row: number) => void;
}

function Row({ trace, tree, row, position, series, at, open, chosen, dimmed, select, toggle }: RowProps): JSX.Element {
  const { columns } = trace;
  const stage = trace.stages[columns.stage[row]!];
  const process = trace.processes[columns.process[row]!];
  const name = stage?.name ?? "";
  const marks = tree.marks[row]!;
  const failed = (marks & markError) !== 0;
  const orphan = (marks & markOrphan) !== 0;
  const parent = hasChildren(tree, row);
  const depth = tree.depth[row]!;
  const took = duration(columns.duration_us[row]! * 1000);
  return (
    <div
      id={`row-${row}`}
      class={`row ${chosen ? "chosen" : ""} ${failed ? "failed" : ""} ${dimmed ? "dimmed" : ""}`}
      role="row"
      aria-level={depth + 1}
      aria-rowindex={position + 1}
      aria-selected={chosen}
      {...(parent ? { "aria-expanded": open } : {})}
      style={{ transform: `translateY(${position * rowHeight}px)` }}
      onClick={() => select(row, "step")}
    >
      <div class="name-cell" role="gridcell" title={`${visible(name)}\n${visible(stage?.service ?? "")}\n${visible(process?.process ?? "")}`}>
        <span class="indent" style={{ width: `${Math.min(depth, deepestIndent) * 12}px` }} />
        {depth > deepestIndent && <span class="depth">{depth}</span>}
        {parent ? (
          <span
            class={`caret ${open ? "open" : ""}`}
            aria-hidden="true"
            onClick={(event) => {
              event.stopPropagation();
              toggle(row);
            }}
          >
            ▸
          </span>
        ) : (
          <span class="caret" />
        )}
        <span class="swatch" style={{ background: colour(series) }} aria-hidden="true" />
        {failed && (
          <span class="error-mark" role="img" aria-label="error" title="This span has an error">
            !
          </span>
        )}
        <Text value={name} class="span-name" />
        {orphan && (
          <span class="badge orphan" title="The parent of this span never arrived">
            orphan
          </span>
        )}
        {parent && !open && <span class="muted inside">+{tree.end[row]! - row - 1}</span>}
      </div>
      <Bar start={at(columns.start_us[row]!)} end={at(columns.start_us[row]! + columns.duration_us[row]!)} series={series} failed={failed} took={took} />
    </div>
  );
}

/** Percent of the width that a label beside its bar needs. */
const labelRoom = 14;

function Bar({ start, end, series, failed, took }: { start: number; end: number; series: number; failed: boolean; took: string }): JSX.Element {
  const out = end < 0 || start > 100;
  const left = Math.max(0, Math.min(100, start));
  const right = Math.max(0, Math.min(100, end));
  const side = 100 - right >= labelRoom ? "after" : left >= labelRoom ? "before" : "within";
  return (
    <div class="time-cell" role="gridcell">
      {out ? (
        <span class={`beyond ${end < 0 ? "earlier" : "later"}`} title={`${took}, out of the time in sight`}>
          {end < 0 ? "‹" : "›"}
        </span>
      ) : (
        <>
          <span class={`bar ${failed ? "failed" : ""}`} style={{ left: `${left}%`, width: `${right - left}%`, background: colour(series) }} />
          <span class={`took ${side}`} style={side === "after" ? { left: `${right}%` } : side === "before" ? { right: `${100 - left}%` } : { right: `${100 - right}%` }}>
            {took}
          </span>
        </>
      )}
    </div>
  );
}
