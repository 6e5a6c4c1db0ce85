import assert from "node:assert/strict";
import { test } from "node:test";
import { logTicks, roundUp, timeTicks } from "./ticks.ts";

test("time marks are round, within, and not too many", () => {
  assert.deepEqual(timeTicks(0, 42e9, 6), [0, 10e9, 20e9, 30e9, 40e9]);
  assert.deepEqual(timeTicks(5, 5, 6), []);
  for (const span of [3, 1e4, 7.3e6, 4.2e10, 8e13, 1e17]) {
    const ticks = timeTicks(span / 3, (span * 4) / 3, 6);
    assert.ok(ticks.length >= 1 && ticks.length <= 7, `${span}: ${ticks.length}`);
  }
});

test("logarithmic marks", () => {
  assert.deepEqual(logTicks(1e3, 1e6, 4), [1e3, 1e4, 1e5, 1e6]);
  assert.deepEqual(logTicks(1e3, 1e12, 4), [1e3, 1e6, 1e9, 1e12]);
});

test("rounding up", () => {
  assert.equal(roundUp(0), 1);
  assert.equal(roundUp(1001), 2000);
  assert.equal(roundUp(5000), 5000);
});
