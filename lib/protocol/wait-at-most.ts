import type { Clock } from './ports.ts';

/** Timers cannot wait longer. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * The promise's value, or undefined when it takes longer than this, or than until the signal fires; it goes on, but nobody
 * waits any more.
 */
export async function waitAtMost<T>(
  ms: number,
  promise: Promise<T>,
  clock: Pick<Clock, 'sleep'>,
  signal?: AbortSignal,
): Promise<T | undefined> {
  const enough = new AbortController();
  const end = () => enough.abort('enough');
  if (signal?.aborted) end();
  signal?.addEventListener('abort', end);
  const patience = clock.sleep(Math.min(ms, LONGEST_TIMER_MS), enough.signal).then(
    () => undefined,
    () => undefined,
  );
  try {
    return await Promise.race([promise, patience]);
  } finally {
    signal?.removeEventListener('abort', end);
    end();
  }
}
