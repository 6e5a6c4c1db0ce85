// One colour for each service, the same on every view of a run.

/** How many colours app.css has (--series-0 ...). */
export const colours = 8;

/** Gives each name a colour by its place among all names of the run, again from the first after the last. A name that is none of them has -1. */
export function palette(services: readonly string[]): (service: string) => number {
  const sorted = [...new Set(services)].sort();
  const index = new Map(sorted.map((service, i) => [service, i % colours]));
  return (service) => index.get(service) ?? -1;
}

/** The CSS value of a colour of a palette. */
export function colour(index: number): string {
  return index < 0 ? "var(--muted)" : `var(--series-${index})`;
}
