import type { JSX } from "preact";
import { ErrorCount, Service } from "../../parts/badges.tsx";
import { count } from "../../lib/format.ts";
import { place, step } from "../../place.ts";
import type { Run } from "../../types.ts";

interface Props {
  services: Run["services"];
  colours: (service: string) => number;
}

/** The services of a run; each narrows the view to itself. */
export function Services({ services, colours }: Props): JSX.Element {
  const chosen = place.value.params.get("service");
  return (
    <section class="card">
      <h2 class="pad">Services</h2>
      <table class="list small">
        <thead>
          <tr>
            <th scope="col">Service</th>
            <th scope="col" class="number">
              Spans
            </th>
            <th scope="col" class="number">
              Errors
            </th>
          </tr>
        </thead>
        <tbody>
          {services.map(({ service, spans, errors }) => (
            <tr key={service} class={chosen === service ? "chosen" : ""}>
              <th scope="row">
                <button
                  type="button"
                  class="plain-button"
                  aria-pressed={chosen === service}
                  title={chosen === service ? "Show all services" : "Show only this service"}
                  onClick={() => step({ service: chosen === service ? null : service, page: null })}
                >
                  <Service name={service} index={colours(service)} />
                </button>
              </th>
              <td class="number">{count(spans)}</td>
              <td class="number">
                <ErrorCount errors={errors} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
