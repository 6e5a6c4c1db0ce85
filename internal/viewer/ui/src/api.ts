// Requests to the API, which stands beside the page.
import { signal } from "@preact/signals";
import { changed, type Changes } from "./lib/address.ts";

/** A request that got no answer to show. */
export class Failure extends Error {
  constructor(
    /** HTTP status; 0 where the server did not answer at all. */
    readonly status: number,
    /** The API's reason, for example no_such_run; "" where the answer has none. */
    readonly reason: string,
    message: string,
    /** When to come again (ms); 0 where the server did not say. */
    readonly retryAfter = 0,
  ) {
    super(message);
  }
}

const tokenKey = "runspan.token";

/** The token that requests carry; null where none was given. It lives as long as the tab. */
export const token = signal<string | null>(sessionStorage.getItem(tokenKey));

/** What the server said to the last request without a good token; null where it is content. */
export const refused = signal<string | null>(null);

export function giveToken(value: string): void {
  sessionStorage.setItem(tokenKey, value);
  refused.value = null;
  token.value = value;
}

/** An answer that takes longer (ms) counts as none. A run of gigabytes may take a while to open. */
const patience = 120_000;

/** Asks the API; throws a Failure, or the signal's reason where it was aborted. */
export async function ask<T>(path: string, params: Changes, signal: AbortSignal): Promise<T> {
  const query = changed(new URLSearchParams(), params).toString();
  const headers = new Headers({ Accept: "application/json" });
  const sent = token.value;
  if (sent !== null) headers.set("Authorization", `Bearer ${sent}`);
  let answer: Response;
  let text: string;
  try {
    answer = await fetch(`api/${path}${query && "?" + query}`, {
      headers,
      signal: AbortSignal.any([signal, AbortSignal.timeout(patience)]),
      credentials: "same-origin",
      cache: "no-store",
    });
    text = await answer.text();
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Failure(0, "", "The server does not answer.");
  }
  const body = parsed(text);
  if (answer.ok && body !== undefined) {
    if (path !== "health") refused.value = null;
    return body as T;
  }
  const { error, reason } = (body ?? {}) as { error?: unknown; reason?: unknown };
  const message =
    typeof error === "string" ? error : `The server answered ${answer.status} ${answer.statusText}, which is no answer of Runspan's API.`;
  if (answer.status === 401 && token.value === sent) {
    refused.value = sent === null ? "This server asks for a token." : "The server did not take this token.";
  }
  const seconds = Number(answer.headers.get("Retry-After"));
  throw new Failure(answer.status, typeof reason === "string" ? reason : "", message, seconds > 0 ? seconds * 1000 : 0);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
