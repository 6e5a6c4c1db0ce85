import type { ComponentChildren, JSX } from "preact";
import { place, step } from "../place.ts";

interface HeadProps {
  /** The value of the API's `sort`; without it the column does not sort. */
  by?: string;
  /** What the API sorts by where the address says nothing. */
  initial: string;
  number?: boolean;
  /** A column of text starts with A, one of numbers and times with the largest. */
  ascendingFirst?: boolean;
  /** The parameter of the address that holds the order. */
  param?: string;
  title?: string;
  class?: string;
  children: ComponentChildren;
}

/** The head of a column; a button that sorts by it, the other way round when pressed again. */
export function Head({ by, initial, number, ascendingFirst, param = "sort", title, class: name, children }: HeadProps): JSX.Element {
  const classes = [number ? "number" : "", name ?? ""].join(" ").trim();
  if (by === undefined) {
    return (
      <th scope="col" class={classes} title={title}>
        {children}
      </th>
    );
  }
  const sort = place.value.params.get(param) ?? initial;
  const direction = sort === by ? "ascending" : sort === "-" + by ? "descending" : undefined;
  function press(): void {
    const ascending = direction === undefined ? (ascendingFirst ?? false) : direction === "descending";
    const next = ascending ? by! : "-" + by!;
    step({ [param]: next === initial ? null : next, page: null });
  }
  return (
    <th scope="col" class={classes} aria-sort={direction ?? "none"} title={title}>
      <button type="button" class="sort" onClick={press}>
        {children}
        <span class="arrow" aria-hidden="true">
          {direction === "ascending" ? "▲" : direction === "descending" ? "▼" : "▽"}
        </span>
      </button>
    </th>
  );
}

/** Which page came before a page, as far as this tab has seen. */
const before = new Map<string, string>();

interface PagesProps {
  shown: number;
  matched: number;
  next: string;
  what: string;
  param?: string;
}

/** The foot of a long list: how much of it is in sight, and the ways to the rest. */
export function Pages({ shown, matched, next, what, param = "page" }: PagesProps): JSX.Element | null {
  const page = place.value.params.get(param) ?? "";
  if (page === "" && next === "") return null;
  const back = before.get(`${param} ${page}`);
  function forward(): void {
    before.set(`${param} ${next}`, page);
    step({ [param]: next });
  }
  return (
    <nav class="pages" aria-label={`Pages of ${what}`}>
      <span class="muted">
        {shown} of {matched} {what}
      </span>
      <button type="button" disabled={page === ""} onClick={() => step({ [param]: null })}>
        First
      </button>
      <button type="button" disabled={back === undefined} onClick={() => step({ [param]: back! })}>
        Previous
      </button>
      <button type="button" disabled={next === ""} onClick={forward}>
        Next
      </button>
    </nav>
  );
}
