import type { ComponentChildren, JSX } from "preact";
import type { Failure } from "../api.ts";
import { bytes, count, percent } from "../lib/format.ts";
import type { Answer, Partial } from "../types.ts";
import { Text } from "./text.tsx";

/** A box with something that the reader should know. */
export function Notice({ kind = "info", children }: { kind?: "info" | "warning" | "error"; children: ComponentChildren }): JSX.Element {
  return (
    <div class={`notice ${kind}`} role={kind === "error" ? "alert" : "status"}>
      {children}
    </div>
  );
}

/** Why a view has nothing to show: an answer that is still to come, or the server's no. */
export function Nothing({ failure, what }: { failure: Failure | null; what: string }): JSX.Element {
  if (failure === null) return <p class="loading">Loading {what} …</p>;
  if (failure.status === 401) return <p class="loading">Waiting for a token.</p>;
  if (failure.status === 0 || failure.status >= 500) return <p class="loading">Waiting for the server …</p>;
  return (
    <Notice kind="error">
      <Text value={failure.message} />
    </Notice>
  );
}

function PartOnly({ partial }: { partial: NonNullable<Partial> }): JSX.Element {
  const part = `${count(partial.spans_read)} of ${count(partial.spans_total)} spans`;
  switch (partial.reason) {
    case "reading":
      return <Notice>Still reading this run: {part} so far.</Notice>;
    case "time_limit":
      return <Notice>Still searching: {part} so far.</Notice>;
    default:
      return (
        <Notice kind="warning">
          This run is larger than the memory that the viewer has for it: what you see is of {part}. <code>max_memory</code> raises the limit.
        </Notice>
      );
  }
}

/** Says what an answer leaves out: files that are still being read, a run over the memory limit. */
export function Incomplete({ answer, partial = null }: { answer: Answer; partial?: Partial | undefined }): JSX.Element | null {
  const { progress } = answer;
  return (
    <>
      {answer.state === "reading" && (
        <Notice>
          Still reading the files{progress && `: ${bytes(progress.read)} of ${bytes(progress.total)} (${percent(progress.read, progress.total)})`}. Counts are of what was read so
          far.
        </Notice>
      )}
      {answer.state === "waiting" && (
        <Notice>
          <Text value={answer.reason} />
        </Notice>
      )}
      {partial !== null && <PartOnly partial={partial} />}
    </>
  );
}
