/** Full jitter, so that jobs that failed together do not retry together. */
export interface Backoff {
  readonly baseMs: number;
  readonly capMs: number;
}

/** `random` is in [0, 1); `errors` includes the current failure. */
export function backoffMs(errors: number, backoff: Backoff, random: number): number {
  const ceiling = Math.min(backoff.capMs, backoff.baseMs * 2 ** Math.max(0, errors - 1));
  return Math.floor(random * (ceiling + 1));
}
