// How long to wait before asking again. A pure function.

/** The longest wait (ms) for a server that is gone: it shows again soon after its restart. */
const longest = 8000;

/**
 * The wait in ms after a request that took `took` ms: `every`, but never so short that more than a
 * quarter of the time goes into one question; longer after each failure in a row, and what the server
 * itself asked for.
 */
export function nextWait(every: number, took: number, failures: number, retryAfter: number): number {
  if (retryAfter > 0) return Math.min(retryAfter, 60_000);
  const calm = Math.max(every, 3 * took);
  return failures === 0 ? calm : Math.max(every, Math.min(every * 2 ** (failures - 1), longest));
}
