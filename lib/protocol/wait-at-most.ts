import type { Clock } from './ports.ts';

/** The longest delay of a timer. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Undefined once time is up or the signal fires; the promise continues. */
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
