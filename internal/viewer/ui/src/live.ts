// Answers that keep themselves current: asked again once a second, with the cursor of the last one.
import { effect, signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, Failure, token } from "./api.ts";
import type { Changes } from "./lib/address.ts";
import { nextWait } from "./lib/wait.ts";
import type { Answer } from "./types.ts";

export interface Live<T> {
  /** The last good answer; null until there is one. */
  data: T | null;
  /** Why the last request got none; null where it did. */
  failure: Failure | null;
  /** True while the answer is of older parameters than those asked for. */
  stale: boolean;
}

/** Requests that go without an answer for now, by what they ask. */
const troubles = signal<ReadonlyMap<string, Failure>>(new Map());

/** The first trouble that concerns the server as a whole: gone or busy. */
export function trouble(): Failure | null {
  for (const failure of troubles.value.values()) return failure;
  return null;
}

/** The server as a whole is gone or busy, whatever was asked. */
function isGeneral(failure: Failure): boolean {
  return failure.status === 0 || failure.status >= 500;
}

function note(key: string, failure: Failure | null): void {
  const general = failure !== null && isGeneral(failure) ? failure : null;
  const known = troubles.peek().get(key);
  if (general === null && known === undefined) return;
  if (general !== null && known?.message === general.message) return;
  const copy = new Map(troubles.peek());
  if (general === null) copy.delete(key);
  else copy.set(key, general);
  troubles.value = copy;
}

/** Asks for a path of the API again and again, until the component goes; null asks for nothing. */
export function useLive<T extends Answer>(path: string | null, params: Changes, every = 1000): Live<T> {
  const key = path === null ? "" : `${path}?${new URLSearchParams(Object.entries(params).map(([k, v]) => [k, String(v ?? "")]))}`;
  const [live, set] = useState<{ data: T | null; of: string; failure: Failure | null }>({ data: null, of: key, failure: null });
  // Parameters are in the key; the object itself is new at each rendering.
  const latest = useRef(params);
  latest.current = params;

  useEffect(() => {
    if (path === null) return;
    const gone = new AbortController();
    let cursor: string | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let asking = false;
    let failures = 0;
    let due = false; // a look was left out because the tab is hidden
    let again = false; // a look was asked for while one was under way

    async function look(): Promise<void> {
      if (asking) {
        again = true;
        return;
      }
      if (document.hidden && (cursor !== undefined || failures > 0)) {
        due = true;
        return;
      }
      asking = true;
      due = again = false;
      const begin = performance.now();
      let failure: Failure | null = null;
      try {
        const answer = await ask<T & { unchanged?: boolean }>(path!, { ...latest.current, cursor: cursor ?? null }, gone.signal);
        cursor = answer.cursor;
        failures = 0;
        if (answer.unchanged !== true) set({ data: answer, of: key, failure: null });
        else set((old) => (old.failure === null ? old : { ...old, failure: null }));
      } catch (error) {
        if (gone.signal.aborted) return;
        failure = error instanceof Failure ? error : new Failure(0, "", String(error));
        failures++;
        const seen = failure;
        // What a server said once stays in sight while it is gone or busy, not where it says no.
        set((old) => (isGeneral(seen) ? { ...old, failure: seen } : { data: null, of: key, failure: seen }));
      } finally {
        asking = false;
      }
      note(key, failure);
      // Without a good token asking again is of no use: the effect below waits for one.
      if (failure?.status === 401) {
        if (again) void look();
        return;
      }
      timer = setTimeout(look, nextWait(every, performance.now() - begin, failures, failure?.retryAfter ?? 0));
    }
    function shown(): void {
      if (!document.hidden && due) void look();
    }
    document.addEventListener("visibilitychange", shown);
    // Runs at once, and again whenever a token is given.
    const end = effect(() => {
      void token.value;
      clearTimeout(timer);
      void look();
    });
    return () => {
      end();
      gone.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", shown);
      note(key, null);
    };
  }, [key, every]);

  return { data: live.data, failure: live.failure, stale: live.data !== null && live.of !== key };
}
