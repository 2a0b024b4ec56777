import type { Clock } from '../../protocol/ports.ts';
import { waitAtMost } from '../../protocol/wait-at-most.ts';

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
  let taken = 0;
  // Woken one by one, and not raced for: a race would leave something behind in every job that outlives it.
  let waiting: (() => void)[] = [];

  /** Resolves when the next job ends, or when the wait does. */
  const nextEnd = async (withinMs: number, signal?: AbortSignal): Promise<void> => {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    waiting.push(resolve);
    await waitAtMost(withinMs, ended, clock, signal);
  };
  const wake = () => {
    taken -= 1;
    const woken = waiting;
    waiting = [];
    for (const each of woken) each();
  };

  return {
    get taken() {
      return taken;
    },
    run(job) {
      taken += 1;
      void job()
        .catch(() => {})
        .finally(wake);
    },
    async room(limit, wanted, gatherMs) {
      while (taken >= limit) await nextEnd(Number.POSITIVE_INFINITY);
      const until = clock.monotonic() + gatherMs;
      while (taken > 0 && limit - taken < wanted && clock.monotonic() < until)
        await nextEnd(until - clock.monotonic());
    },
    async empty(withinMs, signal) {
      const until = clock.monotonic() + withinMs;
      while (taken > 0 && clock.monotonic() < until && !signal?.aborted)
        await nextEnd(until - clock.monotonic(), signal);
      return taken === 0;
    },
  };
}
