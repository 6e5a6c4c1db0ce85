import assert from "node:assert/strict";
import { test } from "node:test";
import { nextWait } from "./wait.ts";

test("once a second, calmer for slow answers and after failures, never for long", () => {
  assert.equal(nextWait(1000, 10, 0, 0), 1000);
  assert.equal(nextWait(1000, 2000, 0, 0), 6000);
  assert.equal(nextWait(1000, 10, 1, 0), 1000);
  assert.equal(nextWait(1000, 10, 3, 0), 4000);
  assert.equal(nextWait(1000, 10, 30, 0), 8000);
  assert.equal(nextWait(1000, 10, 1, 5000), 5000);
  assert.equal(nextWait(1000, 10, 1, 1e9), 60000);
});
