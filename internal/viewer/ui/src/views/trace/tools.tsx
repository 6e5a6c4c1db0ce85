import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { Field } from "../../parts/field.tsx";
import { count } from "../../lib/format.ts";
import { markError, markOrphan, nextRow, type Tree } from "../../lib/tree.ts";
import { place, step } from "../../place.ts";
import type { Trace } from "../../types.ts";

interface Props {
  trace: Trace;
  tree: Tree;
  selected: number;
  select: (row: number, how: "step" | "adjust") => void;
  open: () => void;
  close: () => void;
  anyClosed: boolean;
  zoomed: boolean;
}

/** The rows whose stage or service has the searched text in its name. */
export function matchesOf(trace: Trace, text: string): Uint8Array | null {
  const want = text.trim().toLowerCase();
  if (want === "") return null;
  return Uint8Array.from(trace.stages, (stage) => (stage.name.toLowerCase().includes(want) || stage.service.toLowerCase().includes(want) ? 1 : 0));
}

/** What can be done with a trace as a whole: search, jump from error to error, open, close, zoom out. */
export function Tools({ trace, tree, selected, select, open, close, anyClosed, zoomed }: Props): JSX.Element {
  const text = place.value.params.get("find") ?? "";
  const stages = useMemo(() => matchesOf(trace, text), [trace, text]);
  const matched = useMemo(() => (stages === null ? 0 : trace.columns.stage.reduce((sum, stage) => sum + stages[stage]!, 0)), [stages]);
  function jump(forward: boolean, want: (row: number) => boolean): void {
    const row = nextRow(tree.size, selected < 0 && !forward ? 0 : selected, forward, want);
    if (row >= 0) select(row, "adjust");
  }
  const isMatch = (row: number) => stages !== null && stages[trace.columns.stage[row]!] === 1;
  const isError = (row: number) => (tree.marks[row]! & markError) !== 0;
  const isOrphan = (row: number) => (tree.marks[row]! & markOrphan) !== 0;
  return (
    <form
      class="tools"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        // Of the text as it is by now: Enter comes before the next drawing.
        const now = matchesOf(trace, place.peek().params.get("find") ?? "");
        if (now !== null) jump(true, (row) => now[trace.columns.stage[row]!] === 1);
      }}
    >
      <Field param="find" label="Find a span" placeholder="Part of a name or service" />
      {stages !== null && (
        <>
          <span class="muted nowrap">{matched === 0 ? "none" : count(matched)}</span>
          <Jump what="match" disabled={matched === 0} jump={(forward) => jump(forward, isMatch)} />
        </>
      )}
      {trace.errors.length > 0 && (
        <span class="group">
          <span class="error-count">Errors</span>
          <Jump what="error" disabled={false} jump={(forward) => jump(forward, isError)} />
        </span>
      )}
      {trace.orphans.length > 0 && (
        <span class="group">
          <span class="muted">Orphans</span>
          <Jump what="orphan" disabled={false} jump={(forward) => jump(forward, isOrphan)} />
        </span>
      )}
      <span class="space" />
      {zoomed && (
        <button type="button" onClick={() => step({ from: null, to: null })}>
          Whole time
        </button>
      )}
      <button type="button" onClick={close}>
        Close all
      </button>
      <button type="button" onClick={open} disabled={!anyClosed}>
        Open all
      </button>
    </form>
  );
}

function Jump({ what, disabled, jump }: { what: string; disabled: boolean; jump: (forward: boolean) => void }): JSX.Element {
  return (
    <span class="jump">
      <button type="button" disabled={disabled} aria-label={`Previous ${what}`} title={`Previous ${what}`} onClick={() => jump(false)}>
        ↑
      </button>
      <button type="button" disabled={disabled} aria-label={`Next ${what}`} title={`Next ${what}`} onClick={() => jump(true)}>
        ↓
      </button>
    </span>
  );
}
