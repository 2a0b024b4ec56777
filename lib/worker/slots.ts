import type { Clock } from '../jobs/ports.ts';

/** The jobs that run in this process, and waiting for them. */
export interface Slots {
  readonly taken: number;
  /** Runs beside the others; what it throws is for its own to handle. */
  run(job: () => Promise<unknown>): void;
  /** Resolves when fewer than `limit` run; and then waits a little longer for `wanted` free ones. */
  room(limit: number, wanted: number, gatherMs: number): Promise<void>;
  /** Whether nothing runs any more, by the end of the wait or the signal. */
  empty(withinMs: number, signal?: AbortSignal): Promise<boolean>;
}

export function createSlots(clock: Clock): Slots {
  const running = new Set<Promise<unknown>>();

  /** Resolves when the next job ends, or when the wait does. */
  const nextEnd = async (withinMs: number, signal?: AbortSignal): Promise<void> => {
    if (withinMs === Number.POSITIVE_INFINITY && signal === undefined) {
      await Promise.race(running);
      return;
    }
    const waiting = new AbortController();
    const either = signal === undefined ? waiting.signal : AbortSignal.any([waiting.signal, signal]);
    const longest = Math.min(withinMs, LONGEST_TIMER_MS);
    await Promise.race([...running, clock.sleep(longest, either).catch(() => {})]);
    waiting.abort();
  };

  return {
    get taken() {
      return running.size;
    },
    run(job) {
      const mine: Promise<unknown> = job()
        .catch(() => {})
        .finally(() => running.delete(mine));
      running.add(mine);
    },
    async room(limit, wanted, gatherMs) {
      while (running.size >= limit) await nextEnd(Number.POSITIVE_INFINITY);
      const until = clock.monotonic() + gatherMs;
      while (running.size > 0 && limit - running.size < wanted && clock.monotonic() < until)
        await nextEnd(until - clock.monotonic());
    },
    async empty(withinMs, signal) {
      const until = clock.monotonic() + withinMs;
      while (running.size > 0 && clock.monotonic() < until && !signal?.aborted)
        await nextEnd(until - clock.monotonic(), signal);
      return running.size === 0;
    },
  };
}

/** Timers cannot wait longer. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
