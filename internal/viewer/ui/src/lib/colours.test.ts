import assert from "node:assert/strict";
import { test } from "node:test";
import { colour, palette } from "./colours.ts";

test("a service has one colour, whatever the order", () => {
  const a = palette(["trainer", "engine"]);
  const b = palette(["engine", "trainer", "engine"]);
  assert.equal(a("trainer"), b("trainer"));
  assert.notEqual(a("trainer"), a("engine"));
  assert.equal(a("__proto__"), -1);
  assert.equal(colour(-1), "var(--muted)");
});
