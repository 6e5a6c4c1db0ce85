import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { giveToken, refused } from "../api.ts";
import { trouble } from "../live.ts";
import { place } from "../place.ts";
import { shortId } from "../lib/format.ts";
import { Link } from "./link.tsx";
import { Text } from "./text.tsx";

/** What stands around every view: the way to it, and the server's troubles. */
export function Shell({ children }: { children: ComponentChildren }): JSX.Element {
  const { view, params } = place.value;
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <Link to="runs" class="brand">
          <svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
            <rect x="2" y="4" width="14" height="4" rx="2" />
            <rect x="6" y="10" width="16" height="4" rx="2" />
            <rect x="10" y="16" width="8" height="4" rx="2" />
          </svg>
          Runspan
        </Link>
        <Trail />
        <nav class="corner" aria-label="Views">
          {params.get("run") !== null && view !== "runs" ? (
            <Link to="missing" params={narrowed(params)} current={view === "missing"}>
              What is missing
            </Link>
          ) : (
            <Link to="missing" current={view === "missing"}>
              What is missing
            </Link>
          )}
        </nav>
      </header>
      <Trouble />
      <main id="main" class={`view-${view}`} tabIndex={-1}>
        {refused.value === null ? children : <TokenForm why={refused.value} />}
      </main>
    </>
  );
}

/** The parameters that go along between the views of one run. */
export function narrowed(params: URLSearchParams): Record<string, string | null> {
  return { run: params.get("run"), service: params.get("service") };
}

function Trail(): JSX.Element {
  const { view, params } = place.value;
  const run = params.get("run");
  return (
    <nav class="trail" aria-label="Where you are">
      <ol>
        <li>
          <Link to="runs" current={view === "runs"}>
            Runs
          </Link>
        </li>
        {run !== null && view !== "runs" && (
          <li>
            <Link to="run" params={narrowed(params)} current={view === "run"} class="cut" title={run}>
              <Text value={run} />
            </Link>
          </li>
        )}
        {view === "trace" && (
          <li aria-current="page">
            trace <code>{shortId(params.get("id") ?? "")}</code>
          </li>
        )}
        {view === "missing" && <li aria-current="page">what is missing</li>}
      </ol>
    </nav>
  );
}

function Trouble(): JSX.Element | null {
  const failure = trouble();
  if (failure === null) return null;
  const text =
    failure.reason === "busy"
      ? "The server is busy: more requests at once than it takes. Asking again in a moment."
      : failure.status === 0
        ? "The server does not answer. What you see is its last answer; the page asks again until it is back."
        : failure.message;
  return (
    <div class="trouble" role="status">
      <span class="dot" aria-hidden="true" />
      <Text value={text} />
    </div>
  );
}

function TokenForm({ why }: { why: string }): JSX.Element {
  const [value, set] = useState("");
  function submit(event: SubmitEvent): void {
    event.preventDefault();
    // A header takes no other characters; a token that has them is not one.
    if (/^[\x21-\x7e]+$/.test(value.trim())) giveToken(value.trim());
  }
  return (
    <form class="token" onSubmit={submit}>
      <h2>{why}</h2>
      <p class="muted">It is kept in this tab only and sent to this server only, as a bearer token.</p>
      <label class="field">
        <span>Token</span>
        <input type="password" name="token" value={value} autocomplete="off" autofocus required onInput={(event) => set(event.currentTarget.value)} />
      </label>
      <button type="submit" class="primary">
        Use this token
      </button>
    </form>
  );
}
