import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { markError, type Tree } from "../../lib/tree.ts";
import { step } from "../../place.ts";
import type { Trace } from "../../types.ts";
import type { Frame } from "./trace.tsx";

interface Props {
  trace: Trace;
  tree: Tree;
  series: number[];
  frame: Frame;
  jump: (row: number) => void;
}

/** A shorter drag (px) is a click. */
const shortestDrag = 5;

/** The whole trace at a glance. Dragging over it zooms to that time; a click brings a row into sight. */
export function Overview({ trace, tree, series, frame, jump }: Props): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0, scheme: 0 });
  const [drag, setDrag] = useState<{ from: number; to: number } | null>(null);
  const whole = Math.max(1, trace.duration_us);

  useEffect(() => {
    const element = canvas.current!;
    const observer = new ResizeObserver(() => setSize((old) => ({ ...old, width: element.clientWidth, height: element.clientHeight })));
    observer.observe(element);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const changed = () => setSize((old) => ({ ...old, scheme: old.scheme + 1 }));
    dark.addEventListener("change", changed);
    return () => {
      observer.disconnect();
      dark.removeEventListener("change", changed);
    };
  }, []);

  useLayoutEffect(() => {
    const element = canvas.current!;
    const scale = devicePixelRatio;
    element.width = Math.max(1, size.width * scale);
    element.height = Math.max(1, size.height * scale);
    draw(element, trace, tree, series);
  }, [trace, tree, series, size]);

  const position = (event: PointerEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    return { x: Math.max(0, Math.min(1, (event.clientX - box.left) / box.width)), y: (event.clientY - box.top) / box.height, width: box.width };
  };
  function down(event: PointerEvent): void {
    if (event.button !== 0) return;
    canvas.current!.setPointerCapture(event.pointerId);
    const { x } = position(event);
    setDrag({ from: x, to: x });
  }
  function move(event: PointerEvent): void {
    if (drag !== null) setDrag({ from: drag.from, to: position(event).x });
  }
  function up(event: PointerEvent): void {
    if (drag === null) return;
    const { x, y, width } = position(event);
    setDrag(null);
    if (Math.abs(x - drag.from) * width < shortestDrag) {
      jump(Math.max(0, Math.min(tree.size - 1, Math.floor(y * tree.size))));
      return;
    }
    const [from, to] = [Math.min(x, drag.from), Math.max(x, drag.from)];
    step({ from: Math.floor(from * whole), to: Math.ceil(to * whole) });
  }

  const left = (frame.from / whole) * 100;
  const right = (frame.to / whole) * 100;
  return (
    <div class="overview" title="Drag to zoom to a time, click to go to a row">
      <canvas ref={canvas} role="img" aria-label="The whole trace at a glance" onPointerDown={down} onPointerMove={move} onPointerUp={up} onPointerCancel={() => setDrag(null)} />
      {left > 0 && <span class="outside" style={{ left: "0", width: `${left}%` }} />}
      {right < 100 && <span class="outside" style={{ left: `${right}%`, right: "0" }} />}
      {drag !== null && <span class="dragged" style={{ left: `${Math.min(drag.from, drag.to) * 100}%`, width: `${Math.abs(drag.to - drag.from) * 100}%` }} />}
    </div>
  );
}

function draw(canvas: HTMLCanvasElement, trace: Trace, tree: Tree, series: number[]): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  const style = getComputedStyle(canvas);
  const styleOf = (name: string) => style.getPropertyValue(name).trim();
  const { width, height } = canvas;
  const whole = Math.max(1, trace.duration_us);
  const tall = Math.max(1, Math.min(height / tree.size, 4 * devicePixelRatio) * (tree.size < height / 2 ? 0.7 : 1));
  const { stage, start_us, duration_us } = trace.columns;
  const box = (row: number) => {
    const x = (start_us[row]! / whole) * width;
    context.fillRect(x, (row / tree.size) * height, Math.max(1, (duration_us[row]! / whole) * width), tall);
  };
  // One pass a colour: changing the fill for each of 200,000 rows costs more than drawing them.
  for (const index of new Set(series)) {
    context.fillStyle = index < 0 ? styleOf("--muted") : styleOf(`--series-${index}`);
    for (let row = 0; row < tree.size; row++) if ((series[stage[row]!] ?? -1) === index) box(row);
  }
  // Errors last and a little wider: one among thousands must be seen.
  context.fillStyle = styleOf("--error");
  for (let row = 0; row < tree.size; row++) {
    if ((tree.marks[row]! & markError) === 0) continue;
    const x = (start_us[row]! / whole) * width;
    context.fillRect(x, (row / tree.size) * height, Math.max(2 * devicePixelRatio, (duration_us[row]! / whole) * width), Math.max(tall, 2 * devicePixelRatio));
  }
}
