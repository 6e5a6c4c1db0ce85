// Marks of an axis. Pure functions.

const stepsOfTime = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, // ns
  1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, // µs
  1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8, 2e8, 5e8, // ms
  1e9, 2e9, 5e9, 1e10, 15e9, 2e10, 3e10, // s
  6e10, 12e10, 3e11, 6e11, 9e11, 18e11, // min
  36e11, 72e11, 108e11, 216e11, 432e11, // h
  864e11, 1728e11, 6048e11, // d
];

/** At most `most` round marks (ns) from `from` to `to`, both included where they are round. */
export function timeTicks(from: number, to: number, most: number): number[] {
  const span = to - from;
  if (!(span > 0) || most < 1) return [];
  let step = stepsOfTime.find((s) => span / s <= most);
  if (step === undefined) step = Math.ceil(span / most / 864e11) * 864e11;
  const ticks: number[] = [];
  for (let i = Math.ceil(from / step); i * step <= to; i++) ticks.push(i * step);
  return ticks;
}

/** The powers of ten (ns) that a logarithmic axis from `low` to `high` shows, at most `most` of them. */
export function logTicks(low: number, high: number, most: number): number[] {
  const first = Math.ceil(Math.log10(low) - 1e-9);
  const last = Math.floor(Math.log10(high) + 1e-9);
  const every = Math.max(1, Math.ceil((last - first + 1) / most));
  const ticks: number[] = [];
  for (let e = first; e <= last; e += every) ticks.push(10 ** e);
  return ticks;
}

/** A round number at or above n: 1, 2, 5, 10, 20, 50 ... */
export function roundUp(n: number): number {
  if (n <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(n));
  for (const step of [1, 2, 5, 10]) if (n <= step * power) return step * power;
  return 10 * power;
}
