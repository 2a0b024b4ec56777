import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemRandom } from '../../lib/aws/clock.ts';
import { noEvents } from '../../lib/aws/eventbridge.ts';
import { planDispatch } from '../../lib/protocol/decisions/dispatch.ts';
import { claimOf, type RunningJob } from '../../lib/protocol/job.ts';
import type { Hint } from '../../lib/protocol/ports.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import { sweep } from '../../lib/reaper/sweep.ts';
import { defaultSettings } from '../../lib/settings/settings.ts';
import { createFakeClock } from '../../lib/testing/fake-clock.ts';
import { buildBundles } from '../../lib/tools/dev/bundles.ts';
import { jobUnits } from '../../lib/tools/plan/job-units.ts';
import { totalUnits } from '../../lib/tools/plan/write-units.ts';
import { meterCapacity } from '../support/capacity-meter.ts';
import { anyEngine, describeOnOneEngine } from '../support/engines.ts';
import { newJob } from '../support/jobs.ts';
import { openJobsTable } from '../support/jobs-table.ts';

/** What does not depend on the machine is held here: a change that costs more has to say so by changing a number. */

const settings = defaultSettings;
const PAYLOAD = JSON.stringify('x'.repeat(198));

async function createScene(endpoint: string) {
  const clock = createFakeClock();
  const jobs = await openJobsTable(endpoint, clock);
  const meter = meterCapacity(jobs.client);
  const table = jobs.at();
  const store = createJobStore({ table, clock, random: systemRandom, settings, actor: 'test' });
  const request = (jobId: string) => ({
    job: newJob(jobId, { type: 'counted', payload: PAYLOAD }),
    owner: `worker/${jobId}`,
  });
  const cost = async <T>(act: () => Promise<T>) => {
    meter.reset();
    const outcome = await act();
    return { outcome, requests: meter.requests, units: meter.spent.total, byOperation: meter.units };
  };
  const claimedMany = async (count: number): Promise<RunningJob[]> => {
    const ids = Array.from({ length: count }, (_, i) => `job-${i}`);
    const outcomes = await store.claimMany(ids.map(request));
    return outcomes.map((each) => {
      if (each.outcome !== 'claimed') throw new Error(each.outcome);
      return each.job;
    });
  };
  const claimed = async (jobId: string): Promise<RunningJob> => {
    const outcome = await store.claim(request(jobId));
    if (outcome.outcome !== 'claimed') throw new Error(outcome.outcome);
    return outcome.job;
  };
  const hints: (readonly Hint[])[] = [];
  const sweepOnce = () =>
    sweep(
      {
        ...{ table, store, clock, random: systemRandom, settings, events: noEvents },
        telemetry: { info() {}, warn() {}, error() {}, count() {}, gauge() {} },
        queue: {
          sendHints: async (sent) => {
            hints.push(sent);
            return { sent: sent.length, failed: [] };
          },
        },
      },
      { shards: settings.shards },
    );
  return {
    clock,
    store,
    request,
    claimed,
    claimedMany,
    cost,
    sweepOnce,
    hints,
    close: jobs.close,
  };
}

type Scene = Awaited<ReturnType<typeof createScene>>;

describeOnOneEngine('the price of a transition', (engine) => {
  let scene: Scene;
  beforeEach(async () => {
    scene = await createScene(engine.endpoint);
  });
  afterEach(() => scene.close());

  it('is what the capacity model says, one request each', async () => {
    const { store, cost, clock, request } = scene;
    const model = jobUnits({ payloadBytes: PAYLOAD.length, resultBytes: 50, checkpointBytes: 0 });
    const first = await cost(() => store.claim(request('a')));
    expect([first.requests, first.units]).toEqual([1, totalUnits(model.claim)]);
    if (first.outcome.outcome !== 'claimed') throw new Error(first.outcome.outcome);
    const { job } = first.outcome;
    const beat = await cost(() => store.heartbeat(claimOf(job), job.leaseUntil + 1));
    expect([beat.requests, beat.units]).toEqual([1, totalUnits(model.heartbeat)]);
    const place = await cost(() => store.checkpoint(claimOf(job), { seq: 1, checkpoint: 1 }));
    expect([place.requests, place.units]).toEqual([1, totalUnits(model.checkpoint)]);
    const dispatch = planDispatch(clock.now(), clock.now(), settings);
    const retry = await cost(() =>
      store.retry(claimOf(job), { errors: 1, lastError: 'Error: no', dispatch }),
    );
    expect([retry.requests, retry.units]).toEqual([1, totalUnits(model.retry)]);
    const again = await cost(() => store.claim({ job: { jobId: 'a' }, owner: 'worker/2' }));
    expect([again.requests, again.units]).toEqual([1, totalUnits(model.claimAgain)]);
    if (again.outcome.outcome !== 'claimed') throw new Error(again.outcome.outcome);
    const claim = claimOf(again.outcome.job);
    const end = await cost(() => store.complete(claim, 'x'.repeat(48)));
    expect([end.requests, end.units]).toEqual([1, totalUnits(model.complete)]);
  });

  it('is two write units and one request for a job that is stored for another pool', async () => {
    const { store, cost, clock, request } = scene;
    const dispatch = planDispatch(clock.now(), clock.now(), settings);
    const stored = await cost(() => store.schedule(request('foreign').job, dispatch));
    expect([stored.requests, stored.units]).toEqual([1, 2]);
  });

  it('is 2, 3, 1, 3, 3, 2 write units for a row below 1 KB: claim, beat, checkpoint, retry, claim again, complete', () => {
    const model = jobUnits({ payloadBytes: PAYLOAD.length, resultBytes: 50, checkpointBytes: 0 });
    const { claim, heartbeat, checkpoint, retry, claimAgain, complete, reclaim } = model;
    expect([claim, heartbeat, checkpoint, retry, claimAgain, complete].map(totalUnits)).toEqual([
      2, 3, 1, 3, 3, 2,
    ]);
    expect(totalUnits(reclaim)).toBe(3);
  });

  describe('of a job with data beside its row', () => {
    const KIB = 1024;
    const textOf = (bytes: number) => JSON.stringify('x'.repeat(bytes - 2));
    const withPayload = (jobId: string, bytes: number) => {
      const request = scene.request(jobId);
      return { ...request, job: { ...request.job, payload: textOf(bytes), maxAttempts: 25 } };
    };
    const granted = (outcome: Awaited<ReturnType<Scene['store']['claim']>>) => {
      if (outcome.outcome !== 'claimed') throw new Error(outcome.outcome);
      return outcome.job;
    };

    it.each([
      ['0.4 KB', 400, 4, 2],
      ['4 KiB', 4 * KIB, 9, 3],
      ['64 KiB', 64 * KIB, 69, 3],
    ])('a short job of %s is %i bytes, %i write units and %i requests', async (_, bytes, units, requests) => {
      const { store, cost } = scene;
      const claim = await cost(() => store.claim(withPayload('short', bytes)));
      const end = await cost(() => store.complete(claimOf(granted(claim.outcome))));
      expect([claim.units + end.units, claim.requests + end.requests]).toEqual([units, requests]);
      const model = jobUnits({ payloadBytes: bytes, resultBytes: 0, checkpointBytes: 0 });
      expect(totalUnits(model.claim)).toBe(claim.units);
    });

    it('is 3 units for a beat at any size of payload, checkpoint and error, and one more while the row remembers several failed attempts', async () => {
      const { store, cost, clock } = scene;
      const error = `Error: no\n${'    at a line of the stack\n'.repeat(150)}`;
      for (const [payload, checkpoint] of [
        [100, 0],
        [900, 300],
        [4 * KIB, 4 * KIB],
        [64 * KIB, 32 * KIB],
        [1020 * KIB, 32 * KIB],
      ] as const) {
        const request = withPayload(`beats-${payload}`, payload);
        for (let attempt = 1; attempt <= 8; attempt++) {
          const owner = `worker-0123456789ab/${attempt}`;
          const job = granted(
            await store.claim(
              attempt === 1 ? { ...request, owner } : { job: { jobId: request.job.jobId }, owner },
            ),
          );
          if (checkpoint > 0)
            await store.checkpoint(claimOf(job), { seq: attempt, checkpoint: 'c'.repeat(checkpoint - 2) });
          const beat = await cost(() => store.heartbeat(claimOf(job), job.leaseUntil + 1));
          const allowed = attempt === 1 ? [3] : [3, 4];
          expect(allowed, `${payload} bytes, attempt ${attempt}`).toContain(beat.units);
          expect(beat.requests).toBe(1);
          const dispatch = planDispatch(clock.now(), clock.now(), settings);
          await store.retry(claimOf(job), { errors: attempt, lastError: error, dispatch });
        }
      }
    });

    it('is one read more for a claim by hint, and no other request', async () => {
      const { store, cost, clock } = scene;
      const dispatch = planDispatch(clock.now(), clock.now(), settings);
      const small = granted(await store.claim(withPayload('small', 100)));
      const large = granted(await store.claim(withPayload('large', 64 * KIB)));
      await store.checkpoint(claimOf(large), { seq: 1, checkpoint: 'c'.repeat(8 * KIB) });
      const released = { errors: 0, releases: 1, dispatch };
      await store.release(claimOf(small), released);
      await store.release(claimOf(large), released);
      const [plain, withData] = [
        await cost(() => store.claim({ job: { jobId: 'small' }, owner: 'w/2' })),
        await cost(() => store.claim({ job: { jobId: 'large' }, owner: 'w/2' })),
      ];
      expect([plain.requests, withData.requests]).toEqual([1, 2]);
      expect(withData.byOperation.UpdateItem).toBe(plain.byOperation.UpdateItem);
    });
  });

  it('is one request for 25 claims, and one for 25 completions', async () => {
    const { store, cost, request } = scene;
    const ids = Array.from({ length: 25 }, (_, i) => `job-${i}`);
    const claims = await cost(() => store.claimMany(ids.map(request)));
    expect(claims.requests).toBe(1);
    const jobs = claims.outcome.flatMap((each) => (each.outcome === 'claimed' ? [each.job] : []));
    expect(jobs).toHaveLength(25);
    const ends = await cost(() => store.completeMany(jobs.map((job) => ({ claim: claimOf(job) }))));
    expect(ends.requests).toBe(1);
    expect(ends.outcome.every(({ outcome }) => outcome === 'written')).toBe(true);
  });

  it('is 16 small queries for a sweep that finds nothing lapsed, however many jobs are healthy', async () => {
    const empty = await scene.cost(scene.sweepOnce);
    expect(empty.requests).toBe(16);
    await scene.claimedMany(100);
    const healthy = await scene.cost(scene.sweepOnce);
    expect(healthy.outcome.reclaimed).toBe(0);
    expect(healthy.requests).toBe(16);
    // DynamoDB Local says that an empty query is free; DynamoDB bills the smallest one.
    if (engine.engine === 'dynoxide') expect([empty.units, healthy.units]).toEqual([8, 8]);
  });

  it('is a small part of a request for each of 200 reclaimed jobs, and a tenth for its hint', async () => {
    await scene.claimedMany(200);
    await scene.clock.advance(settings.leaseMs + settings.skewMs + 1);
    const reclaim = await scene.cost(scene.sweepOnce);
    expect(reclaim.outcome.reclaimed).toBe(200);
    expect(reclaim.requests).toBeLessThanOrEqual(48);
    expect(scene.hints.flat()).toHaveLength(200);
    // DynamoDB Local does not account for batches.
    if (engine.engine === 'dynoxide') expect(reclaim.byOperation.BatchExecuteStatement).toBe(3 * 200);
  });
});

describe('the size of a function', () => {
  it('stays below its bound, so that cold starts stay short', async () => {
    // The worker is a host, the same for all, and a cell: here with nothing in it.
    const bounds = {
      ...{ 'worker/index.mjs': 440_000, 'worker/cell.mjs': 35_000 },
      ...{ 'reaper/index.mjs': 410_000, 'dead-letter/index.mjs': 390_000 },
    };
    const jobs = join(import.meta.dirname, '../support/no-jobs.ts');
    const bundles = await buildBundles(['worker', 'reaper', 'dead-letter'], { jobs });
    try {
      for (const [file, bound] of Object.entries(bounds)) {
        const [name = '', program = ''] = file.split('/');
        const { size } = statSync(join(bundles.folder(name), program));
        expect(size, file).toBeLessThan(bound);
        // Far below the bound something is missing, or the bound has become useless: lower it.
        expect(size, file).toBeGreaterThan(bound * 0.75);
      }
    } finally {
      bundles.remove();
    }
  });
});

describe('the price of a refused write', () => {
  it('is one request, with the row in the reply', async () => {
    const scene = await createScene(anyEngine().endpoint);
    const job = await scene.claimed('a');
    await scene.store.complete(claimOf(job));
    const stale = await scene.cost(() => scene.store.heartbeat(claimOf(job), job.leaseUntil + 1));
    expect(stale.outcome).toMatchObject({ outcome: 'lost', job: { status: 'done' } });
    expect(stale.requests).toBe(1);
    await scene.close();
  });
});
