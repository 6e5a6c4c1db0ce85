// A trace as rows in tree order, built from the columns of the API. Pure; sized for 200,000 spans.
import type { Trace } from "../types.ts";

export interface Tree {
  size: number;
  /** The row of the parent; -1 at the top level. */
  parent: Int32Array;
  depth: Int32Array;
  /** The row behind the last one of the subtree. */
  end: Int32Array;
  /** The bytes of the span ids, 8 a row. */
  ids: Uint8Array;
  /** 1: an error; 2: its parent never arrived. */
  marks: Uint8Array;
}

export const markError = 1;
export const markOrphan = 2;

/** Builds the tree of a trace. Parents that point out of the table count as missing. */
export function buildTree(trace: Trace): Tree {
  const above = trace.columns.parent;
  const size = above.length;
  const parent = new Int32Array(size);
  const depth = new Int32Array(size);
  const end = new Int32Array(size);
  for (let row = 0; row < size; row++) {
    const up = above[row]!;
    parent[row] = up > 0 && up <= row ? row - up : -1;
    depth[row] = parent[row]! < 0 ? 0 : depth[parent[row]!]! + 1;
    end[row] = row + 1;
  }
  for (let row = size - 1; row >= 0; row--) {
    const up = parent[row]!;
    if (up >= 0 && end[row]! > end[up]!) end[up] = end[row]!;
  }
  const marks = new Uint8Array(size);
  for (const row of trace.errors) if (row < size) marks[row]! |= markError;
  for (const row of trace.orphans) if (row < size) marks[row]! |= markOrphan;
  return { size, parent, depth, end, ids: decodeIds(trace.columns.span_id, size), marks };
}

function decodeIds(base64: string, size: number): Uint8Array {
  const text = atob(base64);
  const ids = new Uint8Array(size * 8);
  const length = Math.min(text.length, ids.length);
  for (let i = 0; i < length; i++) ids[i] = text.charCodeAt(i);
  return ids;
}

/** The span id of a row in hex. */
export function idOf(tree: Tree, row: number): string {
  let id = "";
  for (let i = row * 8; i < row * 8 + 8; i++) id += tree.ids[i]!.toString(16).padStart(2, "0");
  return id;
}

/** The row of a span id in hex; -1 where it is none of this trace. */
export function rowOf(tree: Tree, id: string): number {
  if (!/^[0-9a-f]{16}$/.test(id)) return -1;
  const want = Uint8Array.from({ length: 8 }, (_, i) => parseInt(id.slice(2 * i, 2 * i + 2), 16));
  search: for (let row = 0; row < tree.size; row++) {
    for (let i = 0; i < 8; i++) if (tree.ids[row * 8 + i] !== want[i]) continue search;
    return row;
  }
  return -1;
}

/** The rows that are shown when those of `closed` hide what is below them, in order. */
export function shownRows(tree: Tree, closed: ReadonlySet<number>): Int32Array {
  const rows = new Int32Array(tree.size);
  let length = 0;
  for (let row = 0; row < tree.size; ) {
    rows[length++] = row;
    row = closed.has(row) ? tree.end[row]! : row + 1;
  }
  return rows.subarray(0, length);
}

/** Where a row stands among the shown ones, or the nearest shown one above it. */
export function positionOf(rows: Int32Array, row: number): number {
  let low = 0;
  let high = rows.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (rows[middle]! <= row) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The rows above a row in the tree, nearest first. */
export function ancestors(tree: Tree, row: number): number[] {
  const found: number[] = [];
  for (let up = tree.parent[row]!; up >= 0; up = tree.parent[up]!) found.push(up);
  return found;
}

/** The next row from `from` (forward or back, around the end) for which `want` holds; -1 for none. */
export function nextRow(size: number, from: number, forward: boolean, want: (row: number) => boolean): number {
  for (let i = 1; i <= size; i++) {
    const row = forward ? (from + i + size) % size : (from - i + 2 * size) % size;
    if (want(row)) return row;
  }
  return -1;
}

/** The closed rows of a tree, found again by their ids in a newer one. */
export function carried(old: Tree, closed: ReadonlySet<number>, now: Tree): Set<number> {
  if (closed.size === 0) return new Set();
  const ids = new Set([...closed].map((row) => idOf(old, row)));
  const found = new Set<number>();
  for (let row = 0; row < now.size; row++) if (hasChildren(now, row) && ids.has(idOf(now, row))) found.add(row);
  return found;
}

export function hasChildren(tree: Tree, row: number): boolean {
  return tree.end[row]! > row + 1;
}
