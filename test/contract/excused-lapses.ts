import { expect, it } from 'vitest';
import { decideReap } from '../../lib/protocol/decisions/decide-reap.ts';
import { claimOf, type RunningJob } from '../../lib/protocol/job.ts';
import { claimedJob, type Harness, contractSettings as settings } from './harness.ts';

/** Lets the job's lease lapse, and reclaims it as excused. */
async function excuse(harness: Harness, { jobId }: RunningJob) {
  await harness.clock.advance(40_000);
  const entry = await harness.leaseOf(jobId);
  if (entry === undefined) throw new Error('the job is not in the index');
  const action = decideReap(entry, { now: harness.clock.now(), settings, excuse: 'the reaper was late' });
  if (action.kind === 'leave') throw new Error('the lease should have lapsed');
  const [outcome] = await harness.store.reapMany([{ entry, action }]);
  return outcome;
}

let owners = 0;
const claimAgain = (harness: Harness, { jobId }: RunningJob) =>
  claimedJob(harness.store, { job: { jobId }, owner: `w/again-${++owners}` });

/** How often in a row a lapse is nobody's fault: the index does not tell, so the row's own condition decides. */
export function describeExcusedLapses(open: () => Harness): void {
  const excusedTwice = async () => {
    const harness = open();
    const job = await harness.claimed(harness.jobId());
    for (const releases of [1, 2]) {
      expect(await excuse(harness, job)).toEqual({ outcome: 'written' });
      expect(await harness.store.read(job.jobId)).toMatchObject({ status: 'pending', crashes: 0, releases });
      await claimAgain(harness, job);
    }
    return { harness, job };
  };

  it('are two in a row; the third is charged, and told as charged', async () => {
    const { harness, job } = await excusedTwice();
    expect(await excuse(harness, job)).toMatchObject({ outcome: 'written', action: { crashes: 1 } });
    const charged = await harness.store.read(job.jobId);
    expect(charged).toMatchObject({ status: 'pending', crashes: 1, releases: 2 });
    expect(charged?.claims.map(({ cause }) => cause)).toEqual([
      'not charged: the reaper was late',
      'not charged: the reaper was late',
      undefined,
    ]);
  });

  it('begin anew after progress', async () => {
    const { harness, job } = await excusedTwice();
    const claim = claimOf((await harness.store.read(job.jobId)) as RunningJob);
    // As the claim found it: what was there is what is forgiven.
    const again = await claimAgain(harness, (await takeBack(harness, job)) as RunningJob);
    expect(again.attempt).toBe(claim.attempt + 1);
    const kept = { seq: again.checkpointSeq + 1, checkpoint: 'further' };
    expect(await harness.store.checkpoint(claimOf(again), kept)).toMatchObject({ outcome: 'written' });
    expect(await excuse(harness, job)).toEqual({ outcome: 'written' });
    expect(await harness.store.read(job.jobId)).toMatchObject({ status: 'pending', crashes: 0 });
  });

  it('begin anew after a release', async () => {
    const { harness, job } = await excusedTwice();
    const held = (await harness.store.read(job.jobId)) as RunningJob;
    const { errors, releases } = held;
    const next = { errors, releases: releases + 1, dispatch: harness.dispatch() };
    await harness.store.release(claimOf(held), next);
    await claimAgain(harness, job);
    expect(await excuse(harness, job)).toEqual({ outcome: 'written' });
    expect(await harness.store.read(job.jobId)).toMatchObject({ status: 'pending', crashes: 0 });
  });

  it('are no help to a job whose claim has moved on', async () => {
    const harness = open();
    const job = await harness.claimed(harness.jobId());
    const entry = await harness.leaseOf(job.jobId);
    await harness.clock.advance(40_000);
    if (entry === undefined) throw new Error('the job is not in the index');
    const action = decideReap(entry, { now: harness.clock.now(), settings, excuse: 'the reaper was late' });
    if (action.kind === 'leave') throw new Error('the lease should have lapsed');
    await harness.store.reap(entry, action);
    await claimAgain(harness, job);
    expect(await harness.store.reap(entry, action)).toEqual({ outcome: 'moved' });
    expect(await harness.store.read(job.jobId)).toMatchObject({ status: 'running', releases: 1 });
  });
}

async function takeBack(harness: Harness, { jobId }: RunningJob) {
  await harness.store.takeBack(jobId);
  await harness.clock.advance(10_000);
  return harness.store.read(jobId);
}
