import type { Chance } from '../protocol/ports.ts';

/** Chance that is none: always the same number, and ids that count upwards. */
export function createHandChance(random = 0.5): Chance {
  let count = 0;
  return { random: () => random, unique: () => `u${++count}` };
}
