import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { ago, clock } from "../lib/format.ts";
import type { Time } from "../types.ts";

/** The present, once a second: what happened "2 s ago" must not stay so where no new answer comes. */
const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 1000);

/** A time in the reader's zone, or how long ago it was; in UTC and in full on a closer look. */
export function When({ time, since }: { time: Time; since?: boolean }): JSX.Element {
  if (time === null) return <span class="muted">–</span>;
  return (
    <time dateTime={time} title={time}>
      {since ? ago(time, now.value) : clock(time)}
    </time>
  );
}
