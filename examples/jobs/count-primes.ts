import { defineJob } from 'leasehold';
import * as z from 'zod';

/**
 * Counts the primes below a number, which is nothing but computing: between two checkpoints the event loop stands still,
 * and its worker keeps the lease alive from a process of its own.
 */
export const countPrimes = defineJob({
  type: 'count-primes',
  payload: z.object({
    below: z.int().min(2).max(100_000_000),
    slice: z.int().min(1).default(500_000),
  }),
  checkpoint: z.object({ next: z.int(), count: z.int() }),
  maxStallMs: 60_000,
  async run({ payload, checkpoint }, { signal, save, progress }) {
    let { next, count } = checkpoint ?? { next: 0, count: 0 };
    while (next < payload.below) {
      signal.throwIfAborted();
      const end = Math.min(payload.below, next + payload.slice);
      count += primesIn(next, end);
      next = end;
      progress({ tested: next, of: payload.below });
      if (next < payload.below) await save({ next, count });
    }
    return { primes: count };
  },
});

/** The number of primes in [from, to). */
function primesIn(from: number, to: number): number {
  const size = to - from;
  const composite = new Uint8Array(size);
  for (let factor = 2; factor * factor < to; factor++) {
    const start = Math.max(factor * factor, Math.ceil(from / factor) * factor);
    for (let multiple = start; multiple < to; multiple += factor) composite[multiple - from] = 1;
  }
  let count = 0;
  for (let i = 0; i < size; i++) if (composite[i] === 0 && from + i >= 2) count += 1;
  return count;
}
