import type { Chance } from '../protocol/ports.ts';

/** No real chance: always the same number, and ids that count up. */
export function createHandChance(random = 0.5): Chance {
  let count = 0;
  return { random: () => random, unique: () => `u${++count}` };
}
