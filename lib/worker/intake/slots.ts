import type { Clock } from '../../protocol/ports.ts';
import { waitAtMost } from '../../protocol/wait-at-most.ts';

/** Completions that may pile up beyond the slots, so that a hanging store is not sent jobs without end. */
const ENDING_BEYOND_SLOTS = 25;
/** Measuring window. */
const PACE_MS = 200;

export type Slots = ReturnType<typeof createSlots>;

/** Concurrency slots. A slot is free once its handler returned, while its completion is still being stored. */
export function createSlots(clock: Clock, limit: number, onFree: () => void) {
  const most = 2 * limit + ENDING_BEYOND_SLOTS;
  let running = 0;
  let ending = 0;
  // A `Promise.race` would leak into every longer-lived job.
  let waiting: (() => void)[] = [];
  /** In the order of their start. */
  const starts = new Set<{ readonly at: number }>();
  const pace = createPace(clock);

  const nextEnd = async (withinMs: number, signal?: AbortSignal): Promise<void> => {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    waiting.push(resolve);
    await waitAtMost(withinMs, ended, clock, signal);
  };
  const freed = () => {
    running -= 1;
    pace.note();
    onFree();
  };
  const ended = () => {
    const woken = waiting;
    waiting = [];
    for (const each of woken) each();
  };

  return {
    limit,
    /** Claimed, running or ending. */
    get taken() {
      return running + ending;
    },
    free: () => Math.max(0, Math.min(limit - running, most - running - ending)),
    take(count: number): void {
      running += count;
    },
    /** A claim failed. */
    unclaimed(): void {
      freed();
      ended();
    },
    /** Frees the slot when the job calls `returned`, at the latest when it ends. */
    run(job: (returned: () => void) => Promise<unknown>): void {
      let isReturned = false;
      const start = { at: clock.monotonic() };
      starts.add(start);
      const returned = () => {
        if (isReturned) return;
        isReturned = true;
        ending += 1;
        freed();
      };
      void job(returned)
        .catch(() => {})
        .finally(() => {
          returned();
          starts.delete(start);
          ending -= 1;
          if (running + ending === most - 1) onFree();
          ended();
        });
    },
    /** Age of the oldest job, 0 without any. */
    longestRunMs(): number {
      for (const { at } of starts) return clock.monotonic() - at;
      return 0;
    },
    freedPerMs: pace.perMs,
    /** False if jobs remain after the wait. */
    async empty(withinMs: number, signal?: AbortSignal): Promise<boolean> {
      const until = clock.monotonic() + withinMs;
      while (running + ending > 0 && clock.monotonic() < until && !signal?.aborted)
        await nextEnd(until - clock.monotonic(), signal);
      return running + ending === 0;
    },
  };
}

/** Counts in two half windows and drops the older one. */
function createPace(clock: Clock) {
  let from = clock.monotonic();
  let elder = 0;
  let younger = 0;
  const turn = (): number => {
    const age = clock.monotonic() - from;
    if (age < PACE_MS / 2) return age;
    elder = age < PACE_MS ? younger : 0;
    younger = 0;
    from += age;
    return 0;
  };
  return {
    note() {
      turn();
      younger += 1;
    },
    perMs: () => {
      const age = turn();
      return (elder + younger) / (PACE_MS / 2 + age);
    },
  };
}
