import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyValue } from "../types.ts";
import { kindName, shown, statusName } from "./otlp.ts";

test("values keep their type", () => {
  assert.deepEqual(shown({ intValue: "7" }), { type: "int", text: "7" });
  assert.deepEqual(shown({ stringValue: "7" }), { type: "", text: "7" });
  assert.deepEqual(shown({ stringValue: "" }), { type: "", text: "" });
  assert.deepEqual(shown({ boolValue: false }), { type: "bool", text: "false" });
  assert.deepEqual(shown({ intValue: 0 }), { type: "int", text: "0" });
  assert.deepEqual(shown({}), { type: "empty", text: "" });
  assert.deepEqual(shown(undefined), { type: "empty", text: "" });
});

test("nested values, keys of the prototype among them", () => {
  const map: AnyValue = {
    kvlistValue: { values: [{ key: "__proto__", value: { arrayValue: { values: [{ intValue: "1" }, { stringValue: 'a"' }, {}] } } }, { key: "constructor" }] },
  };
  assert.deepEqual(shown(map), { type: "map", text: '{"__proto__": [1, "a\\"", null], "constructor": null}' });
  assert.equal(shown({ arrayValue: {} }).text, "[]");
});

test("a value of any depth is cut, not run out of stack", () => {
  let deep: AnyValue = { stringValue: "x" };
  for (let i = 0; i < 5000; i++) deep = { arrayValue: { values: [deep] } };
  assert.match(shown(deep).text, /^\[+…\]+$/);
});

test("kinds and statuses, as numbers and as names", () => {
  assert.equal(kindName(3), "client");
  assert.equal(kindName("SPAN_KIND_SERVER"), "server");
  assert.equal(kindName(undefined), "unspecified");
  assert.equal(kindName(99), "99");
  assert.equal(statusName({ code: 2 }), "error");
  assert.equal(statusName({ code: "STATUS_CODE_OK" }), "ok");
  assert.equal(statusName(undefined), "unset");
});
