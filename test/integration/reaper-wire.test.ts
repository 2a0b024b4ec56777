import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sweep } from '../../lib/reaper/sweep.ts';
import { watch } from '../../lib/reaper/watch.ts';
import { anyEngine, sqsEndpoint } from '../support/engines.ts';
import { type ReaperOnEngine, reaperOnEngine } from '../support/reaper-on-engine.ts';

const JOBS = 10_000;
const ids = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}-${i}`);

describe('the reaper at the wire', { timeout: 240_000 }, () => {
  let system: ReaperOnEngine;

  beforeEach(async () => {
    system = await reaperOnEngine({ dynamoDbEndpoint: anyEngine().endpoint, sqsEndpoint: sqsEndpoint() });
  });
  afterEach(() => system.stop());

  const seedLapsed = (count: number) =>
    system.seed(ids('lapsed', count).map((id, i) => system.running(id, 60_000 + (i % 5000))));

  it('takes 10,000 jobs back with at most 0.16 requests a job', async () => {
    await seedLapsed(JOBS);
    // The next test is about the breaker.
    const { deps } = system.reaper({ settings: { breakerThreshold: 1_000_000 } });
    const result = await sweep(deps);
    expect(result).toMatchObject({ reclaimed: JOBS, hintsSent: JOBS, complete: true, redispatched: 0 });
    expect(system.requests() / JOBS).toBeLessThanOrEqual(0.16);
    expect(await system.waitingHints()).toBe(JOBS);
  });

  it('needs no more while the breaker is open, leadership and counting included', async () => {
    await seedLapsed(JOBS);
    const { deps, telemetry } = system.reaper();
    const result = await watch(deps, { deadlineAt: deps.clock.now() + 200_000, mode: 'never' });
    expect(result).toMatchObject({ reclaimed: JOBS, ended: 'swept' });
    expect(telemetry.values.get('BreakerOpen')?.[0]).toBe(1);
    expect(system.requests() / JOBS).toBeLessThanOrEqual(0.16);
  });

  it('asks each shard once when nothing has lapsed, whatever the table holds', async () => {
    const { deps } = system.reaper();
    const perSweep = async () => {
      const before = system.requests();
      expect(await sweep(deps)).toMatchObject({ reclaimed: 0, redispatched: 0, complete: true });
      expect(system.dynamoDb.counts).toEqual({ Query: expect.any(Number) });
      return system.requests() - before;
    };
    expect(await perSweep()).toBe(16);
    await system.seed(ids('healthy', 5000).map((id, i) => system.running(id, -3_600_000 - i)));
    expect(await perSweep()).toBe(16);
    await system.seed(ids('done', 10_000).map(system.finished));
    expect(await perSweep()).toBe(16);
  });
});
