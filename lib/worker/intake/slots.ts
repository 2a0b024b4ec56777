import type { Clock } from '../../protocol/ports.ts';
import { waitAtMost } from '../../protocol/wait-at-most.ts';

/** Caps pending completions, so that a store outage does not pile up jobs. */
const ENDING_BEYOND_SLOTS = 25;
const PACE_MS = 200;

export type Slots = ReturnType<typeof createSlots>;

/** A slot is free once its handler returned, while its completion is still being stored. */
export function createSlots(clock: Clock, limit: number, onFree: () => void) {
  const most = 2 * limit + ENDING_BEYOND_SLOTS;
  let running = 0;
  let ending = 0;
  // A `Promise.race` would leak into every longer-lived job.
  let waiting: (() => void)[] = [];
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
    get taken() {
      return running + ending;
    },
    free: () => Math.max(0, Math.min(limit - running, most - running - ending)),
    take(count: number): void {
      running += count;
    },
    unclaimed(): void {
      freed();
      ended();
    },
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
    longestRunMs(): number {
      for (const { at } of starts) return clock.monotonic() - at;
      return 0;
    },
    freedPerMs: pace.perMs,
    async empty(withinMs: number, signal?: AbortSignal): Promise<boolean> {
      const until = clock.monotonic() + withinMs;
      while (running + ending > 0 && clock.monotonic() < until && !signal?.aborted)
        await nextEnd(until - clock.monotonic(), signal);
      return running + ending === 0;
    },
  };
}

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
