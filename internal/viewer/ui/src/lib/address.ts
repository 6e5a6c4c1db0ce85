// Addresses of views. Pure functions.
//
// Every view is one path segment, and every address is relative: the page works below any prefix
// that a proxy puts before it.

export type View = "runs" | "run" | "trace" | "missing" | "unknown";

export interface Place {
  view: View;
  params: URLSearchParams;
}

/** What a change of parameters sets; null or "" takes one away. */
export type Changes = Record<string, string | number | null>;

/** The place that an address names. */
export function parse(pathname: string, search: string): Place {
  const segment = pathname.slice(pathname.lastIndexOf("/") + 1);
  const params = new URLSearchParams(search);
  switch (segment) {
    case "":
      return { view: "runs", params };
    case "run":
    case "trace":
    case "missing":
      return { view: segment, params };
    default:
      return { view: "unknown", params };
  }
}

/** The relative address of a view. */
export function address(view: View, params: URLSearchParams | Changes = {}): string {
  const path = view === "runs" || view === "unknown" ? "./" : view;
  const given = params instanceof URLSearchParams ? params : changed(new URLSearchParams(), params);
  const query = given.toString();
  return query === "" ? path : `${path}?${query}`;
}

/** A copy of parameters with some of them set or taken away. */
export function changed(params: URLSearchParams, changes: Changes): URLSearchParams {
  const copy = new URLSearchParams(params);
  for (const [key, value] of Object.entries(changes)) {
    if (value === null || value === "") copy.delete(key);
    else copy.set(key, String(value));
  }
  return copy;
}
