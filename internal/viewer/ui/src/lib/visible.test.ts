import assert from "node:assert/strict";
import { test } from "node:test";
import { cut, pieces, visible } from "./visible.ts";

test("characters without a look are named", () => {
  assert.equal(visible("a\u202efdp.exe"), "a[U+202E]fdp.exe");
  assert.equal(visible("a\0b\r\u200bc\ufeff"), "a[U+0000]b[U+000D][U+200B]c[U+FEFF]");
  assert.equal(visible("\ud800x\udc00"), "[U+D800]x[U+DC00]");
  assert.deepEqual(pieces("a\0b"), [
    { text: "a", code: false },
    { text: "U+0000", code: true },
    { text: "b", code: false },
  ]);
});

test("text of any script is left as it is", () => {
  for (const text of ["line\n\ttwo", "中文 עברית हिन्दी", "👩‍🚀🇨🇭", "می‌خواهم", "<script>'\"`"]) assert.equal(visible(text), text);
  assert.deepEqual(pieces(""), []);
});

test("a cut never halves a character", () => {
  assert.equal(cut("ab😀", 3), "ab");
  assert.equal(cut("ab😀", 4), "ab😀");
});
