import { describe, expect, it } from 'vitest';
import { keysOnFullest, warmingFor } from '../../../lib/settings/partitions.ts';
import { seededRandom } from '../../support/random.ts';

/** Keys on the fullest partition in nine of ten of many draws. */
function drawn(keys: number, partitions: number): number {
  const random = seededRandom(7);
  const fullest = Array.from({ length: 4000 }, () => {
    const counts = Array.from({ length: partitions }, () => 0);
    for (let key = 0; key < keys; key++) {
      const at = random.integer(0, partitions - 1);
      counts[at] = (counts[at] ?? 0) + 1;
    }
    return Math.max(...counts);
  }).sort((a, b) => a - b);
  return fullest[Math.ceil(0.9 * fullest.length) - 1] ?? 0;
}

describe('keys of shards on the partitions of an index', () => {
  it.each([
    [8, 4, 5],
    [1, 4, 1],
    [24, 25, undefined],
    [64, 8, undefined],
  ])('of %i keys on %i, the fullest has as many as in most draws', (keys, partitions, known) => {
    expect(keysOnFullest(keys, partitions)).toBe(drawn(keys, partitions));
    if (known !== undefined) expect(keysOnFullest(keys, partitions)).toBe(known);
  });

  it('need warming only for a load that is more than they carry, and then enough', () => {
    expect(warmingFor({ maxRunning: 1000, heartbeatMs: 10_000, shards: 8 })).toBeUndefined();
    const load = { maxRunning: 20_000, heartbeatMs: 10_000, shards: 8 };
    const needed = warmingFor(load);
    if (needed === undefined) throw new Error('nothing is needed');
    expect(warmingFor({ ...load, shards: needed.shards }, needed.indexUnits)).toBeUndefined();
  });
});
