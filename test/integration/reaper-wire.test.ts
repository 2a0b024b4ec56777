import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sweep } from '../../lib/reaper/sweep.ts';
import { atDepth } from '../support/depth.ts';
import { type ReaperOnEngine, reaperOnEngine } from '../support/reaper-on-engine.ts';

const JOBS = atDepth(1_000, 10_000);
/** A tenth for each hint, a twenty-fifth for each write, and what a sweep needs whatever it finds. */
const MOST_REQUESTS = 0.15 * JOBS + 100;
const ids = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}-${i}`);

describe('the reaper at the wire', { timeout: 240_000 }, () => {
  let system: ReaperOnEngine;

  beforeEach(async () => {
    system = await reaperOnEngine();
  });
  afterEach(() => system.close());

  const seedLapsed = (count: number) =>
    system.seed(ids('lapsed', count).map((id, i) => system.running(id, 60_000 + (i % 5000))));

  it(`takes ${JOBS} jobs back with at most 0.15 requests a job, and a few for the sweep`, async () => {
    await seedLapsed(JOBS);
    const { deps } = system.reaper();
    let reclaimed = 0;
    for (let sweeps = 0; reclaimed < JOBS && sweeps <= JOBS / 1000; sweeps++)
      reclaimed += (await sweep(deps)).reclaimed;
    expect(reclaimed).toBe(JOBS);
    expect(system.requests()).toBeLessThanOrEqual(MOST_REQUESTS);
    expect(await system.waitingHints()).toBe(JOBS);
  });

  it('asks each shard once when nothing has lapsed, whatever the table holds', async () => {
    const { deps } = system.reaper();
    const perSweep = async () => {
      const before = system.requests();
      expect(await sweep(deps)).toMatchObject({ reclaimed: 0, redispatched: 0, complete: true });
      expect(system.dynamodb.counts).toEqual({ Query: expect.any(Number) });
      return system.requests() - before;
    };
    expect(await perSweep()).toBe(16);
    await system.seed(ids('healthy', JOBS / 2).map((id, i) => system.running(id, -3_600_000 - i)));
    expect(await perSweep()).toBe(16);
    await system.seed(ids('done', JOBS).map(system.finished));
    expect(await perSweep()).toBe(16);
  });
});
