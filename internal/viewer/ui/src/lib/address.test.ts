import assert from "node:assert/strict";
import { test } from "node:test";
import { address, changed, parse } from "./address.ts";

test("views are the last segment, below any prefix", () => {
  assert.equal(parse("/", "").view, "runs");
  assert.equal(parse("/proxy/18318/", "").view, "runs");
  assert.equal(parse("/proxy/18318/trace", "?run=a&id=b").view, "trace");
  assert.equal(parse("/nothing", "").view, "unknown");
});

test("identities travel whole", () => {
  const run = "a/b c&d=é中\u202e#?%";
  const there = address("run", { run, service: null, q: "" });
  assert.ok(there.startsWith("run?run=a%2Fb"), there);
  assert.equal(parse("/run", there.slice(there.indexOf("?"))).params.get("run"), run);
  assert.equal(address("runs"), "./");
  assert.equal(address("runs", { page: 2 }), "./?page=2");
});

test("changes leave the rest and the original alone", () => {
  const params = new URLSearchParams("run=__proto__&q=x");
  assert.equal(changed(params, { q: null, page: "p" }).toString(), "run=__proto__&page=p");
  assert.equal(params.toString(), "run=__proto__&q=x");
});
