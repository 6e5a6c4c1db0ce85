// Numbers, durations and times as a person reads them. Pure functions.

const thin = "\u202f";

/** A count with thin spaces between thousands: 1 234 567. */
export function count(n: number): string {
  return String(Math.round(n)).replace(/\B(?=(\d{3})+(?!\d))/g, thin);
}

/** "1 span", "2 spans". */
export function counted(n: number, one: string, many = one + "s"): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

function digits(value: number): string {
  if (value >= 100) return value.toFixed(0);
  if (value >= 10) return value.toFixed(1).replace(/\.0$/, "");
  return value.toFixed(2).replace(/\.?0+$/, "");
}

/** A duration of nanoseconds with about three digits: 850 ns, 1.2 ms, 3m 20s, 2d 4h. */
export function duration(ns: number): string {
  if (!Number.isFinite(ns)) return "–";
  if (ns < 0) return "−" + duration(-ns);
  // The border of each unit lies where its digits would round up into the next one.
  if (ns < 999.5) return `${Math.round(ns)} ns`;
  if (ns < 999.5e3) return `${digits(ns / 1e3)} µs`;
  if (ns < 999.5e6) return `${digits(ns / 1e6)} ms`;
  if (ns < 59.95e9) return `${digits(ns / 1e9)} s`;
  const seconds = Math.round(ns / 1e9);
  if (seconds < 3600) return pair(seconds, 60, "m", 1, "s");
  if (seconds < 86400 - 30) return pair(seconds, 3600, "h", 60, "m");
  return pair(seconds, 86400, "d", 3600, "h");
}

function pair(seconds: number, big: number, bigName: string, small: number, smallName: string): string {
  const steps = Math.round(seconds / small);
  const rest = steps % (big / small);
  const whole = (steps - rest) / (big / small);
  return rest === 0 ? `${whole}${bigName}` : `${whole}${bigName} ${rest}${smallName}`;
}

/** Bytes in binary units: 1.2 MiB. */
export function bytes(n: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (n >= 999.5 && unit < units.length - 1) {
    n /= 1024;
    unit++;
  }
  return unit === 0 ? `${n} B` : `${digits(n)} ${units[unit]}`;
}

/** Milliseconds since 1970 of an RFC 3339 time; NaN where there is none. */
export function millis(time: string | null): number {
  // Date.parse reads nine digits of a second in today's browsers, but no rule says that it must.
  return time === null ? NaN : Date.parse(time.replace(/(\.\d{3})\d+/, "$1"));
}

const two = (n: number) => String(n).padStart(2, "0");

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** A time in the reader's zone, with the date where it is not today: 10:15:00, Dec 1 10:15:00, Dec 1 2025 10:15:00. */
export function clock(time: string | null, now = Date.now()): string {
  const ms = millis(time);
  if (Number.isNaN(ms)) return "–";
  const at = new Date(ms);
  const today = new Date(now);
  const day = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  if (at.toDateString() === today.toDateString()) return day;
  const year = at.getFullYear() === today.getFullYear() ? "" : ` ${at.getFullYear()}`;
  return `${months[at.getMonth()]} ${at.getDate()}${year} ${day}`;
}

/** How long ago a time was, coarsely: now, 12 s ago, 3 min ago, 2 d ago. */
export function ago(time: string | null, now = Date.now()): string {
  const seconds = Math.round((now - millis(time)) / 1000);
  if (Number.isNaN(seconds)) return "–";
  if (seconds < 2) return "now";
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86400)} d ago`;
}

/** Part of a whole in percent: 12 %, <1 %, 100 %. */
export function percent(part: number, whole: number): string {
  if (whole <= 0) return "–";
  const value = (part / whole) * 100;
  if (value > 0 && value < 1) return "<1 %";
  if (value > 99 && value < 100) return ">99 %";
  return `${Math.round(value)} %`;
}

/** Nanoseconds between two times given as integers of nanoseconds since 1970. */
export function between(from: string | number | undefined, to: string | number | undefined): number {
  try {
    return Number(BigInt(to ?? 0) - BigInt(from ?? 0));
  } catch {
    return NaN; // not integers: what a foreign writer put there
  }
}

/** The label of an axis mark: as many digits as tell it from its neighbours at `step` (both ns). */
export function mark(ns: number, step: number): string {
  if (ns === 0) return "0";
  if (ns < 0) return "−" + mark(-ns, step);
  if (ns >= 60e9) {
    const decimals = places(step / 1e9);
    const seconds = ns / 1e9;
    const whole = Math.floor(seconds + 1e-9);
    const rest = (seconds - whole + (whole % 60)).toFixed(decimals).padStart(decimals === 0 ? 2 : 3 + decimals, "0");
    const minutes = Math.floor(whole / 60) % 60;
    const hours = Math.floor(whole / 3600);
    return hours > 0 ? `${hours}:${two(minutes)}:${rest}` : `${minutes}:${rest}`;
  }
  for (const [unit, name] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]] as const) {
    if (ns >= unit) return `${(ns / unit).toFixed(places(step / unit))} ${name}`;
  }
  return `${Math.round(ns)} ns`;
}

function places(step: number): number {
  return Math.max(0, Math.min(9, Math.ceil(-Math.log10(step) - 1e-9)));
}

/** A power of ten (ns) in the largest unit of which it is a whole number: 10 µs, 1 ms, 1000 s. */
export function decade(ns: number): string {
  for (const [unit, name] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]] as const) {
    if (ns >= unit) return `${Math.round(ns / unit)} ${name}`;
  }
  return `${Math.round(ns)} ns`;
}

/** The first digits of an id that tell it from others: engines exist that fill the first half with zeros. */
export function shortId(id: string): string {
  return id.replace(/^0+(?=.{8})/, "").slice(0, 8);
}
