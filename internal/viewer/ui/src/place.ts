// The place that the page is at: the address bar is the only state that decides what is shown.
import { signal } from "@preact/signals";
import { address, changed, parse, type Changes, type Place, type View } from "./lib/address.ts";

export const place = signal<Place>(parse(location.pathname, location.search));

// Browsers refuse more than about 200 changes of the address in 30 s. Held arrow keys and typing
// make more, so that replacements are written down at most this often (ms).
const restBeforeReplacing = 250;
let pending: ReturnType<typeof setTimeout> | undefined;

function write(how: "push" | "replace"): void {
  clearTimeout(pending);
  pending = undefined;
  const url = address(place.value.view, place.value.params);
  if (how === "push") history.pushState(null, "", url);
  else history.replaceState(null, "", url);
}

/** Goes to another view. */
export function go(view: View, params: URLSearchParams | Changes = {}): void {
  if (pending !== undefined) write("replace");
  const old = place.value;
  place.value = { view, params: params instanceof URLSearchParams ? params : changed(new URLSearchParams(), params) };
  write("push");
  if (old.view === view && old.params.get("run") === place.value.params.get("run") && old.params.get("id") === place.value.params.get("id")) return;
  // As after loading a page: from its top, by keyboard and screen reader too.
  scrollTo(0, 0);
  document.getElementById("main")?.focus({ preventScroll: true });
}

/** Changes parameters of this view: a step that the back button undoes. */
export function step(changes: Changes): void {
  const params = changed(place.value.params, changes);
  if (params.toString() !== place.value.params.toString()) go(place.value.view, params);
}

/** Changes parameters of this view in place: typing, arrow keys. */
export function adjust(changes: Changes): void {
  const params = changed(place.value.params, changes);
  if (params.toString() === place.value.params.toString()) return;
  place.value = { view: place.value.view, params };
  clearTimeout(pending);
  pending = setTimeout(() => write("replace"), restBeforeReplacing);
}

addEventListener("popstate", () => {
  clearTimeout(pending);
  pending = undefined;
  place.value = parse(location.pathname, location.search);
});
addEventListener("pagehide", () => {
  if (pending !== undefined) write("replace");
});
