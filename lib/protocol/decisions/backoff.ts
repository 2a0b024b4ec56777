/** Exponential backoff with full jitter: retries of jobs that failed together spread out instead of meeting again. */
export interface Backoff {
  readonly baseMs: number;
  readonly capMs: number;
}

/** The wait before the next attempt. `random` is in [0, 1); `errors` counts the failure that is being answered. */
export function backoffMs(errors: number, backoff: Backoff, random: number): number {
  const ceiling = Math.min(backoff.capMs, backoff.baseMs * 2 ** Math.max(0, errors - 1));
  return Math.floor(random * (ceiling + 1));
}
