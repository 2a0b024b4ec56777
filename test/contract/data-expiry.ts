import { expect, it } from 'vitest';
import { claimOf } from '../../lib/protocol/job.ts';
import type { RowWrite } from '../../lib/protocol/writes/row-write.ts';
import { newJob } from '../support/jobs.ts';
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
    expect((await harness.store.read(jobId))?.elsewhere).toEqual(['payload']);
    expect(await gone.store.claim({ job: { jobId }, owner: 'w/1' })).toMatchObject({
      ...{ outcome: 'withoutData', error: { code: 'MISSING_DATA' } },
    });
    expect(await harness.store.read(jobId)).toMatchObject({
      status: 'failed',
      errors: 0,
      lastError: expect.stringContaining('MissingDataError: the payload of job'),
    });
  });

  it('is used behind a live pointer whatever its expiry says, and renewed by the next claim', async () => {
    const harness = open();
    const jobId = harness.jobId();
    await harness.store.schedule(large(jobId), harness.dispatch());
    const before = pointerAt(await rowOf(harness, jobId), 'payload');
    await harness.clock.advance(40 * DAY);
    const claimed = await claimedJob(harness.store, { job: { jobId }, owner: 'w/1' });
    expect(claimed.payload).toBe(textOf(20 * KIB));
    const after = pointerAt(await rowOf(harness, jobId), 'payload');
    expect(after.in).not.toBe(before.in);
    expect(after.until - before.until).toBeGreaterThanOrEqual((40 * DAY) / 1000 - 1);
    expect((await harness.store.read(jobId))?.payload).toBe(textOf(20 * KIB));
  });

  it('lives for the retention and 30 days from when the job may run, and a revival renews it', async () => {
    const harness = open();
    const jobId = harness.jobId();
    const notBefore = harness.clock.now() + 200 * DAY;
    await harness.store.schedule(large(jobId), { notBefore, leaseUntil: notBefore, dispatches: 0 });
    const scheduled = pointerAt(await rowOf(harness, jobId), 'payload');
    expect(scheduled.until * 1000).toBeGreaterThanOrEqual(
      notBefore + contractSettings.rowRetentionMs + 30 * DAY,
    );
    const job = harness.jobId();
    const claim = claimOf(await claimedJob(harness.store, { job: large(job), owner: 'w/1' }));
    await harness.clock.advance(20 * DAY);
    await harness.store.fail(claim, { errors: 1, lastError: 'boom' });
    await harness.clock.advance(10 * DAY);
    const before = pointerAt(await rowOf(harness, job), 'payload');
    expect(await harness.store.revive(job)).toMatchObject({ outcome: 'written' });
    expect(pointerAt(await rowOf(harness, job), 'payload').until).toBeGreaterThan(before.until);
    expect((await harness.store.read(job))?.payload).toBe(textOf(20 * KIB));
  });

  it('is renewed by the heartbeats of a claim that runs for weeks, though nobody waits for it', async () => {
    const harness = open();
    const jobId = harness.jobId();
    const job = await claimedJob(harness.store, { job: large(jobId), owner: 'w/1' });
    const claim = claimOf(job);
    await harness.store.checkpoint(claim, { seq: 1, checkpoint: 'c'.repeat(3_000) });
    const beat = () => harness.store.heartbeat(claim, harness.clock.now() + 30_000);
    for (let week = 1; week <= 12; week++) {
      await harness.clock.advance(7 * DAY);
      expect(await beat()).toMatchObject({ outcome: 'extended' });
      // A beat does not wait for the copies, so the test does.
      const needed = harness.clock.now() + contractSettings.rowRetentionMs + 7 * DAY;
      await expect
        .poll(async () => {
          const row = await rowOf(harness, jobId);
          const ends = ['payload', 'checkpoint'].map((name) => pointerAt(row, name).until * 1000);
          return Math.min(...ends) >= needed;
        })
        .toBe(true);
    }
    const { store, names } = watched(harness);
    await store.heartbeat(claim, harness.clock.now() + 40_000);
    expect(names()).toEqual(['heartbeat']);
    expect(await harness.store.read(jobId)).toMatchObject({
      ...{ payload: textOf(20 * KIB), checkpoint: 'c'.repeat(3_000), elsewhere: [] },
    });
  });

  it('that a claim could not renew is renewed with its first beat', async () => {
    const harness = open();
    const jobId = harness.jobId();
    await harness.store.schedule(large(jobId), harness.dispatch());
    await harness.clock.advance(40 * DAY);
    const failing = watched(harness, {
      apply: async (write) => {
        if (write.transition === 'tidy') throw new Error('no reply');
        return harness.table.apply(write);
      },
    });
    const before = pointerAt(await rowOf(harness, jobId), 'payload');
    const claim = claimOf(await claimedJob(failing.store, { job: { jobId }, owner: 'w/1' }));
    expect(pointerAt(await rowOf(harness, jobId), 'payload').in).toBe(before.in);
    await harness.store.heartbeat(claim, harness.clock.now() + 40_000);
    await expect.poll(async () => pointerAt(await rowOf(harness, jobId), 'payload').in).not.toBe(before.in);
  });

  it('is renewed without putting an older checkpoint back, however late the write arrives', async () => {
    const harness = open();
    const jobId = harness.jobId();
    const first = claimOf(await claimedJob(harness.store, { job: newJob(jobId), owner: 'w/1' }));
    await harness.store.checkpoint(first, { seq: 1, checkpoint: 'a'.repeat(3_000) });
    await harness.store.release(first, { errors: 0, releases: 1, dispatch: harness.dispatch() });
    await harness.clock.advance(40 * DAY);
    let late: RowWrite | undefined;
    const { store } = watched(harness, {
      apply: async (write) => {
        if (write.transition !== 'tidy') return harness.table.apply(write);
        late = write;
        throw new Error('no reply');
      },
    });
    const claim = claimOf(await claimedJob(store, { job: { jobId }, owner: 'w/2' }));
    await store.checkpoint(claim, { seq: 2, checkpoint: 'b'.repeat(3_000) });
    expect(await harness.table.apply(late as RowWrite)).toMatchObject({ applied: false });
    expect((await harness.store.read(jobId))?.checkpoint).toBe('b'.repeat(3_000));
  });

  it('is written once by a message for later that comes again', async () => {
    const harness = open();
    const jobId = harness.jobId();
    const { store, names } = watched(harness);
    expect(await store.schedule(large(jobId), harness.dispatch(), true)).toMatchObject({
      outcome: 'written',
    });
    expect(await store.schedule(large(jobId), harness.dispatch(), true)).toMatchObject({
      ...{ outcome: 'exists', job: { status: 'pending' } },
    });
    expect(names()).toEqual(['putData', 'schedule']);
  });
}
