import type { Chance } from '../protocol/ports.ts';

/** Creates a fake `Chance`: always the same number, and IDs that count up. */
export function createFakeRandom(random = 0.5): Chance {
  let count = 0;
  return { random: () => random, unique: () => `u${++count}` };
}
