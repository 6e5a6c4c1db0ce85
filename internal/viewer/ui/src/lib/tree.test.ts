import assert from "node:assert/strict";
import { test } from "node:test";
import type { Trace } from "../types.ts";
import { ancestors, buildTree, carried, hasChildren, idOf, markError, markOrphan, nextRow, positionOf, rowOf, shownRows } from "./tree.ts";

function trace(parent: number[], ids?: number[]): Trace {
  const bytes = Buffer.alloc(parent.length * 8);
  parent.forEach((_, row) => bytes.writeBigUInt64BE(BigInt(ids?.[row] ?? row + 1), row * 8));
  const zeros = parent.map(() => 0);
  return {
    state: "ready",
    reason: "",
    partial: null,
    run_id: "r",
    trace_id: "t",
    start: "",
    duration_us: 1,
    spans: parent.length,
    stages: [],
    processes: [],
    columns: { span_id: bytes.toString("base64").replace(/=+$/, ""), parent, stage: zeros, process: zeros, start_us: zeros, duration_us: zeros },
    errors: [2, 99],
    orphans: [4],
    duplicates: 0,
    cut: 0,
  };
}

// 0 ─ 1 ─ 2
//   └ 3
// 4 ─ 5      (4 is an orphan)
const rows = [0, 1, 1, 3, -1, 1];

test("the tree of the columns", () => {
  const tree = buildTree(trace(rows));
  assert.deepEqual([...tree.parent], [-1, 0, 1, 0, -1, 4]);
  assert.deepEqual([...tree.depth], [0, 1, 2, 1, 0, 1]);
  assert.deepEqual([...tree.end], [4, 3, 3, 4, 6, 6]);
  assert.equal(tree.marks[2], markError);
  assert.equal(tree.marks[4], markOrphan);
  assert.deepEqual(ancestors(tree, 2), [1, 0]);
  assert.ok(hasChildren(tree, 0) && !hasChildren(tree, 2));
});

test("parents that point out of the table count as missing", () => {
  assert.deepEqual([...buildTree(trace([5, 2, 1])).parent], [-1, -1, 1]);
});

test("ids there and back", () => {
  const tree = buildTree(trace(rows));
  assert.equal(idOf(tree, 2), "0000000000000003");
  assert.equal(rowOf(tree, "0000000000000003"), 2);
  assert.equal(rowOf(tree, "00000000000000ff"), -1);
  assert.equal(rowOf(tree, "no id"), -1);
});

test("closed rows hide what is below them", () => {
  const tree = buildTree(trace(rows));
  assert.deepEqual([...shownRows(tree, new Set())], [0, 1, 2, 3, 4, 5]);
  const some = shownRows(tree, new Set([1, 4]));
  assert.deepEqual([...some], [0, 1, 3, 4]);
  assert.equal(positionOf(some, 3), 2);
  assert.equal(positionOf(some, 2), 1); // hidden: the nearest above
});

test("closed rows are found again when a live trace grew", () => {
  const old = buildTree(trace(rows));
  const now = buildTree(trace([0, 1, 2, 1, 1, -1, 1], [1, 77, 2, 3, 4, 5, 6]));
  assert.deepEqual([...carried(old, new Set([1, 4]), now)], [2, 5]);
});

test("the next row that fits, around the ends", () => {
  const fits = (row: number) => row === 1 || row === 4;
  assert.equal(nextRow(6, -1, true, fits), 1);
  assert.equal(nextRow(6, 1, true, fits), 4);
  assert.equal(nextRow(6, 4, true, fits), 1);
  assert.equal(nextRow(6, 0, false, fits), 4);
  assert.equal(nextRow(6, 3, true, () => false), -1);
});

test("100,000 rows are a tree in one look", () => {
  const deep = buildTree(trace(Array.from({ length: 100_000 }, (_, row) => (row === 0 ? 0 : 1))));
  assert.equal(deep.depth[99_999], 99_999);
  assert.equal(shownRows(deep, new Set([10])).length, 11);
});
