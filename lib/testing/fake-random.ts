import type { Random } from '../protocol/ports.ts';

/** Creates a fake `Random`: always the same number, and IDs that count up. */
export function createFakeRandom(random = 0.5): Random {
  let count = 0;
  return { next: () => random, unique: () => `u${++count}` };
}
