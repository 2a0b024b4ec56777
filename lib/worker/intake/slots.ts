import type { Clock } from '../../protocol/ports.ts';
import { waitAtMost } from '../../protocol/wait-at-most.ts';

/** Room for jobs in this process. A slot is free again when its handler has returned: its completion is stored beside it. */
export interface Slots {
  readonly limit: number;
  /** Jobs that are claimed, run or being ended. */
  readonly taken: number;
  /** How many more may be claimed now. */
  free(): number;
  /** Takes slots for claims that are about to be sent. */
  take(count: number): void;
  /** A claim came to nothing. */
  unclaimed(): void;
  /**
   * Runs a claimed job in a slot that was taken for it. The slot is free when the job says so, which it may say once, or else when it
   * has ended. What it throws is for its own to handle.
   */
  run(job: (returned: () => void) => Promise<unknown>): void;
  /** How many slots come free in a ms, lately. */
  freedPerMs(): number;
  /** Whether nothing runs or is being ended any more, by the end of the wait or the signal. */
  empty(withinMs: number, signal?: AbortSignal): Promise<boolean>;
}

/** As many as there are slots, and a full request more, may be about to be stored: a store that hangs must not be sent jobs without end. */
const ENDING_BEYOND_SLOTS = 25;
/** Over how long the pace is measured. */
const PACE_MS = 200;

export function createSlots(clock: Clock, limit: number, onFree: () => void): Slots {
  const most = 2 * limit + ENDING_BEYOND_SLOTS;
  let running = 0;
  let ending = 0;
  // Woken one by one, and not raced for: a race would leave something behind in every job that outlives it.
  let waiting: (() => void)[] = [];
  const pace = createPace(clock);

  /** Resolves when the next job ends, or when the wait does. */
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
    take(count) {
      running += count;
    },
    unclaimed() {
      freed();
      ended();
    },
    run(job) {
      let isReturned = false;
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
          ending -= 1;
          if (running + ending === most - 1) onFree();
          ended();
        });
    },
    freedPerMs: pace.perMs,
    async empty(withinMs, signal) {
      const until = clock.monotonic() + withinMs;
      while (running + ending > 0 && clock.monotonic() < until && !signal?.aborted)
        await nextEnd(until - clock.monotonic(), signal);
      return running + ending === 0;
    },
  };
}

/** Counts in two halves of a window, of which the elder is forgotten when the younger is full. */
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
