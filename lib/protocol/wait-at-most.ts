import type { Clock } from './ports.ts';

/** The promise's value, or undefined when it takes longer than this; it goes on, but nobody waits any more. */
export async function waitAtMost<T>(ms: number, promise: Promise<T>, clock: Clock): Promise<T | undefined> {
  const enough = new AbortController();
  const patience = clock.sleep(ms, enough.signal).then(
    () => undefined,
    () => undefined,
  );
  try {
    return await Promise.race([promise, patience]);
  } finally {
    enough.abort('enough');
  }
}
