import { describe, expect, it } from 'vitest';
import { allShards, pendingShard, runningShard } from '../../../lib/protocol/shards.ts';

describe('shards', () => {
  it('keep their place between versions', () => {
    expect(['a', 'order-1', 'order-2'].map((id) => runningShard(id, 8))).toEqual(['r4', 'r5', 'r4']);
    expect(pendingShard('a', 8)).toBe('q4');
  });

  it('have names of their own for running, pending and failed jobs', () => {
    expect(allShards(2)).toEqual({
      running: ['r0', 'r1'],
      pending: ['q0', 'q1'],
      failed: ['f0', 'f1'],
    });
  });

  it('share ids out evenly', () => {
    const counts = new Map<string, number>();
    for (let i = 0; i < 8_000; i++) {
      const shard = runningShard(`job-${i}`, 8);
      counts.set(shard, (counts.get(shard) ?? 0) + 1);
    }
    expect(counts.size).toBe(8);
    for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(200);
  });
});
