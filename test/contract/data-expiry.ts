import { expect, it } from 'vitest';
import { claimOf } from '../../lib/protocol/job.ts';
import { DAY, KIB, large, pointerAt, rowOf, textOf, watched } from './data-harness.ts';
import { claimedJob, contractSettings, type Harness } from './harness.ts';

/** Data lives as long as its job needs it. What is gone all the same fails the job with a reason. */
export function describeDataExpiry(open: () => Harness): void {
  it('fails the job with a reason when it is claimed, and is named when it is read', async () => {
    const harness = open();
    const jobId = harness.jobId();
    await harness.store.schedule(large(jobId), harness.dispatch());
    const gone = watched(harness);
    const [key = ''] = pointerAt(await rowOf(harness, jobId), 'payload').keys;
    await harness.put({ jobId: key, expiresAt: 1 });
    expect((await harness.store.read(jobId))?.externalFields).toEqual(['payload']);
    expect(await gone.store.claim({ job: { jobId }, owner: 'w/1' })).toMatchObject({
      ...{ outcome: 'withoutData', error: { code: 'MISSING_DATA' } },
    });
    expect(await harness.store.read(jobId)).toMatchObject({
      status: 'failed',
      errors: 0,
      lastError: expect.stringContaining('MissingDataError: the payload of job'),
    });
  });

  const expiryOf = async (harness: Harness, jobId: string, name: string) => {
    const [key = ''] = pointerAt(await rowOf(harness, jobId), name).keys;
    return Number((await harness.table.read(key))?.expiresAt) * 1000;
  };
  /** When data that is written now, or extended, expires. */
  const latest = (from: number) =>
    Math.ceil((from + contractSettings.rowRetentionMs + 60 * DAY) / 1000) * 1000;

  it('lives for the retention and 60 days from when the job is due', async () => {
    const harness = open();
    const jobId = harness.jobId();
    const notBefore = harness.clock.now() + 200 * DAY;
    await harness.store.schedule(large(jobId), { notBefore, leaseUntil: notBefore, dispatches: 0 });
    expect(await expiryOf(harness, jobId, 'payload')).toBe(latest(notBefore));
  });

  it('is used behind a live pointer whatever its expiry says, and lives on after a claim that finds less than 30 days and the retention', async () => {
    const harness = open();
    const jobId = harness.jobId();
    const { store, names } = watched(harness);
    const claimAnew = async (owner: string) => {
      const job = await claimedJob(store, { job: { jobId }, owner });
      expect(job.payload).toBe(textOf(20 * KIB));
      await store.release(claimOf(job), { errors: 0, releases: 1, dispatch: harness.dispatch() });
    };
    await store.schedule(large(jobId), harness.dispatch());
    const written = latest(harness.clock.now());
    await harness.clock.advance(30 * DAY);
    await claimAnew('w/1');
    expect(await expiryOf(harness, jobId, 'payload')).toBe(written);
    await harness.clock.advance(1_000);
    await claimAnew('w/2');
    expect(await expiryOf(harness, jobId, 'payload')).toBe(latest(harness.clock.now()));
    await harness.clock.advance(100 * DAY);
    await claimAnew('w/3');
    expect(names().filter((name) => name === 'extendData')).toHaveLength(2);
  });

  it('outlives the longest run and the retention of its row, and a job that is revived then', async () => {
    const harness = open();
    const jobId = harness.jobId();
    await harness.store.schedule(large(jobId), harness.dispatch());
    await harness.clock.advance(30 * DAY);
    const claim = claimOf(await claimedJob(harness.store, { job: { jobId }, owner: 'w/1' }));
    await harness.clock.advance(30 * DAY);
    await harness.store.fail(claim, { errors: 1, lastError: 'boom' });
    await harness.clock.advance(contractSettings.rowRetentionMs - 1);
    expect(await expiryOf(harness, jobId, 'payload')).toBeGreaterThan(harness.clock.now());
    expect(await harness.store.revive(jobId)).toMatchObject({ outcome: 'written' });
    await claimedJob(harness.store, { job: { jobId }, owner: 'w/2' });
    expect(await expiryOf(harness, jobId, 'payload')).toBe(latest(harness.clock.now()));
  });
}
