import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ErrorCount } from "../../parts/badges.tsx";
import { Text } from "../../parts/text.tsx";
import { When } from "../../parts/when.tsx";
import { colour } from "../../lib/colours.ts";
import { clock, count } from "../../lib/format.ts";
import { visible } from "../../lib/visible.ts";
import type { Process } from "../../types.ts";

interface Props {
  processes: Process[];
  colours: (service: string) => number;
}

/** So many processes are shown at first. */
const some = 12;

/** The processes of a run: pods, hosts or instances. */
export function Processes({ processes, colours }: Props): JSX.Element {
  const [all, showAll] = useState(false);
  const shown = all ? processes : processes.slice(0, some);
  return (
    <section class="card">
      <h2 class="pad">
        Processes <span class="muted">{count(processes.length)}</span>
      </h2>
      <div class="tall scroll" tabIndex={0} role="group" aria-label="Processes">
        <table class="list small wrapped">
          <thead>
            <tr>
              <th scope="col">Process</th>
              <th scope="col" class="number">
                Spans
              </th>
              <th scope="col" class="number">
                Errors
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((process) => (
              <tr key={process.service + "\n" + process.process}>
                <th scope="row" title={`${visible(process.process)}\n${visible(process.service)}\nnamed by ${visible(process.named_by)}\n${clock(process.first)} to ${clock(process.last)}`}>
                  <span class="swatch" style={{ background: colour(colours(process.service)) }} aria-hidden="true" />
                  <Text value={process.process} />
                  <small class="muted block">last span <When time={process.last} since /></small>
                </th>
                <td class="number">{count(process.spans)}</td>
                <td class="number">
                  <ErrorCount errors={process.errors} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {processes.length > some && (
        <button type="button" class="more" onClick={() => showAll(!all)}>
          {all ? "Show fewer" : `Show all ${count(processes.length)}`}
        </button>
      )}
    </section>
  );
}
