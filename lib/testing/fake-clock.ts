import type { Clock } from '../protocol/ports.ts';

/** A clock that moves only by `advance` and `set`. */
export interface FakeClock extends Clock {
  /** Lets time pass and wakes sleepers in order. */
  advance(ms: number): Promise<void>;
  /** Sets the wall clock without letting time pass, as NTP would. */
  set(now: number): void;
  readonly sleepers: number;
}

interface Sleeper {
  readonly wakesAt: number;
  readonly wake: () => void;
}

/** Easy to recognize in a failed assertion. */
const FAKE_CLOCK_START = 1_800_000_000_000;

/** Creates a clock that moves only by `advance` and `set`. */
export function createFakeClock(start: number = FAKE_CLOCK_START): FakeClock {
  let passed = 0;
  let wall = start;
  const sleepers = new Set<Sleeper>();

  const moveTo = (moment: number) => {
    wall += moment - passed;
    passed = moment;
  };
  const nextUpTo = (moment: number) =>
    [...sleepers].filter((s) => s.wakesAt <= moment).sort((a, b) => a.wakesAt - b.wakesAt)[0];

  return {
    now: () => wall,
    monotonic: () => passed,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const end = () => {
          sleepers.delete(sleeper);
          signal?.removeEventListener('abort', cancel);
        };
        const sleeper = {
          wakesAt: passed + Math.max(0, ms),
          wake: () => {
            end();
            resolve();
          },
        };
        const cancel = () => {
          end();
          reject(signal?.reason);
        };
        sleepers.add(sleeper);
        signal?.addEventListener('abort', cancel);
      }),
    async advance(ms) {
      const until = passed + ms;
      for (let next = nextUpTo(until); next !== undefined; next = nextUpTo(until)) {
        moveTo(Math.max(passed, next.wakesAt));
        next.wake();
        await settled();
      }
      moveTo(until);
      await settled();
    },
    set: (now) => {
      wall = now;
    },
    get sleepers() {
      return sleepers.size;
    },
  };
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
