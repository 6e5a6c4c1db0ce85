import assert from "node:assert/strict";
import { test } from "node:test";
import { ago, between, bytes, clock, count, counted, decade, duration, mark, millis, percent, shortId } from "./format.ts";

test("durations keep about three digits and never round into a unit that is full", () => {
  const cases: [number, string][] = [
    [0, "0 ns"],
    [999, "999 ns"],
    [999.6, "1 µs"],
    [1234, "1.23 µs"],
    [999_499, "999 µs"],
    [999_500, "1 ms"],
    [1_500_000, "1.5 ms"],
    [59_940_000_000, "59.9 s"],
    [59_960_000_000, "1m"],
    [200e9, "3m 20s"],
    [3599.6e9, "1h"],
    [86399e9, "1d"],
    [90000e9, "1d 1h"],
    [-1_500_000, "−1.5 ms"],
    [NaN, "–"],
  ];
  for (const [ns, want] of cases) assert.equal(duration(ns), want, String(ns));
});

test("counts, bytes and parts", () => {
  assert.equal(count(1234567), "1\u202f234\u202f567");
  assert.equal(count(999), "999");
  assert.equal(counted(1, "span"), "1 span");
  assert.equal(counted(0, "process", "processes"), "0 processes");
  assert.equal(bytes(0), "0 B");
  assert.equal(bytes(1023), "1 KiB");
  assert.equal(bytes(1.5 * 1024 * 1024), "1.5 MiB");
  assert.equal(percent(1, 1000), "<1 %");
  assert.equal(percent(999, 1000), ">99 %");
  assert.equal(percent(1, 0), "–");
});

test("times with nanoseconds, and none", () => {
  assert.equal(millis("2026-12-01T10:15:00.123456789Z"), Date.UTC(2026, 11, 1, 10, 15, 0, 123));
  assert.equal(clock(null), "–");
  const now = Date.UTC(2026, 11, 1, 12);
  assert.equal(clock("2026-12-01T10:15:00.9Z", now), "10:15:00");
  assert.equal(clock("2026-11-30T10:15:00Z", now), "Nov 30 10:15:00");
  assert.equal(clock("2025-11-30T10:15:00Z", now), "Nov 30 2025 10:15:00");
  assert.equal(ago("2026-12-01T11:59:59Z", now), "now");
  assert.equal(ago("2026-12-01T11:57:01Z", now), "2 min ago");
  assert.equal(ago(null, now), "–");
});

test("nanoseconds since 1970 are more than a number holds", () => {
  assert.equal(between("1796120100123456789", "1796120100123456790"), 1);
  assert.ok(Number.isNaN(between("1.5", "2")));
});

test("marks of an axis differ from their neighbours", () => {
  assert.equal(mark(0, 1e9), "0");
  assert.equal(mark(12_345e6, 1e6), "12.345 s");
  assert.equal(mark(10e9, 10e9), "10 s");
  assert.equal(mark(75e9, 15e9), "1:15");
  assert.equal(mark(3_725_500e6, 500e6), "1:02:05.5");
  assert.equal(decade(1e12), "1000 s");
  assert.equal(decade(1e4), "10 µs");
});

test("ids whose first half is zeros are told apart", () => {
  assert.equal(shortId("0000000000000000abcdef0123456789"), "abcdef01");
  assert.equal(shortId("1af765190af765190af76519abc00000"), "1af76519");
  assert.equal(shortId("0"), "0");
});
