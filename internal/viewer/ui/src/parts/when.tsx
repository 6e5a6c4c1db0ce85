import type { JSX } from "preact";
import { ago, clock } from "../lib/format.ts";
import type { Time } from "../types.ts";

/** A time in the reader's zone, or how long ago it was; in UTC and in full on a closer look. */
export function When({ time, since }: { time: Time; since?: boolean }): JSX.Element {
  if (time === null) return <span class="muted">–</span>;
  return (
    <time dateTime={time} title={time}>
      {since ? ago(time) : clock(time)}
    </time>
  );
}
