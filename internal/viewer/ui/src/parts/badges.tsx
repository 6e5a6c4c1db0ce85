import type { JSX } from "preact";
import { colour } from "../lib/colours.ts";
import { count } from "../lib/format.ts";
import { Text } from "./text.tsx";

/** A run to which spans were added within the last half minute. */
export function LiveBadge(): JSX.Element {
  return (
    <span class="badge live" title="Spans were added within the last 30 seconds">
      <span class="pulse" aria-hidden="true" />
      live
    </span>
  );
}

/** A count of errors; quiet where there are none. */
export function ErrorCount({ errors }: { errors: number }): JSX.Element {
  return errors === 0 ? <span class="muted">0</span> : <span class="error-count">{count(errors)}</span>;
}

/** A service with the colour that it has on every view of the run. */
export function Service({ name, index }: { name: string; index: number }): JSX.Element {
  return (
    <span class="service">
      <span class="swatch" style={{ background: colour(index) }} aria-hidden="true" />
      <Text value={name} />
    </span>
  );
}
