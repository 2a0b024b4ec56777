import { expect, it } from 'vitest';
import { decideReap } from '../../lib/protocol/decisions/decide-reap.ts';
import { planDispatch } from '../../lib/protocol/decisions/dispatch.ts';
import { claimOf, type LeaseEntry, leaseEntryOf, type PendingJob } from '../../lib/protocol/job.ts';
import { newJob } from '../support/jobs.ts';
import { claimedJob, entryOf, type Harness, contractSettings as settings } from './harness.ts';

/** What a row remembers and forgets from one end of its life to the other. */
export function describeLifecycle(open: () => Harness): void {
  const entry = async ({ table }: Harness, jobId: string): Promise<LeaseEntry> =>
    entryOf((await table.read(jobId)) ?? {});

  it('the first message wins over every later one, the row’s own lease length included', async () => {
    const harness = open();
    const jobId = harness.jobId();
    const first = newJob(jobId, { payload: '"first"', leaseMs: 45_000, maxAttempts: 7, maxCrashes: 2 });
    const job = await claimedJob(harness.store, { job: first, owner: 'w/1' });
    expect(job).toMatchObject({ leaseUntil: harness.clock.now() + 45_000, attempt: 1 });
    await harness.store.release(claimOf(job), { errors: 0, releases: 1, dispatch: harness.dispatch() });
    await harness.clock.advance(1_000);
    const budgets = { leaseMs: 10_000, maxAttempts: 1, maxCrashes: 1 };
    const later = newJob(jobId, { payload: '"later"', ...budgets });
    const again = await claimedJob(harness.store, { job: later, owner: 'w/2' });
    expect(again).toMatchObject({
      type: 'report',
      payload: '"first"',
      leaseMs: 45_000,
      maxAttempts: 7,
      maxCrashes: 2,
      attempt: 2,
      createdAt: job.createdAt,
      leaseUntil: harness.clock.now() + 45_000,
    });
    expect(again).not.toHaveProperty('notBefore');
  });

  it.each([10, 300_000])('a later message of another type, of %s bytes, changes nothing', async (bytes) => {
    const harness = open();
    const jobId = harness.jobId();
    await harness.store.schedule(newJob(jobId), harness.dispatch());
    const row = await harness.table.read(jobId);
    const job = newJob(jobId, { type: 'other', payload: JSON.stringify('x'.repeat(bytes)) });
    const outcomes = [
      await harness.store.claim({ job, owner: 'w/1' }),
      await harness.store.claim({ job, owner: 'w/2', redelivered: true }),
      ...(await harness.store.claimMany([{ job, owner: 'w/3' }])),
    ];
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['contended', 'contended', 'contended']);
    expect(await harness.table.read(jobId)).toEqual(row);
  });

  it('a job is claimed from the tick at which its due time is within the skew', async () => {
    const harness = open();
    const jobId = harness.jobId();
    const due = harness.clock.now() + 60_000;
    const scheduled = await harness.store.schedule(
      newJob(jobId),
      planDispatch(harness.clock.now(), due, settings),
    );
    expect(scheduled).toMatchObject({
      outcome: 'written',
      job: { status: 'pending', attempt: 0, notBefore: due },
    });
    expect(await harness.store.schedule(newJob(jobId), harness.dispatch())).toMatchObject({
      outcome: 'exists',
      job: { notBefore: due },
    });
    await harness.clock.advance(60_000 - settings.skewMs - 1);
    const claim = () => harness.store.claim({ job: { jobId }, owner: 'w/1' });
    expect(await claim()).toMatchObject({ outcome: 'notYet', notBefore: due });
    await harness.clock.advance(1);
    expect(await claim()).toMatchObject({ outcome: 'claimed' });
  });

  it('a beat between the look and the reset keeps the job with its worker', async () => {
    const harness = open();
    const job = await harness.claimed(harness.jobId());
    const seen = await entry(harness, job.jobId);
    await harness.clock.advance(40_000);
    const verdict = decideReap(seen, { now: harness.clock.now(), random: 0, settings });
    await harness.store.heartbeat(claimOf(job), harness.clock.now() + 30_000);
    expect(verdict.kind).toBe('reclaim');
    if (verdict.kind !== 'leave')
      expect(await harness.store.reap(seen, verdict)).toEqual({ outcome: 'moved' });
    expect(await harness.store.read(job.jobId)).toMatchObject({ status: 'running', lapses: 0 });
  });

  it('an entry of a claim that ended long ago moves nothing, and two reapers count a lapse once', async () => {
    const harness = open();
    const job = await harness.claimed(harness.jobId());
    const old = await entry(harness, job.jobId);
    await harness.clock.advance(40_000);
    const verdict = decideReap(old, { now: harness.clock.now(), random: 0, settings });
    if (verdict.kind === 'leave') throw new Error('the lease should have lapsed');
    const both = await Promise.all([harness.store.reap(old, verdict), harness.store.reap(old, verdict)]);
    expect(both.map(({ outcome }) => outcome).sort()).toEqual(['moved', 'written']);
    await claimedJob(harness.store, { job: { jobId: job.jobId }, owner: 'w/2' });
    expect(await harness.store.reap(old, verdict)).toEqual({ outcome: 'moved' });
    expect(await harness.store.read(job.jobId)).toMatchObject({ status: 'running', attempt: 2, lapses: 1 });
  });

  it('an entry of another claim moves nothing although both leases end in the same instant', async () => {
    const harness = open();
    const job = await harness.claimed(harness.jobId());
    const old = await entry(harness, job.jobId);
    await harness.store.release(claimOf(job), { errors: 0, releases: 1, dispatch: harness.dispatch() });
    const next = await claimedJob(harness.store, { job: { jobId: job.jobId }, owner: 'w/2' });
    expect(next.leaseUntil).toBe(old.leaseUntil);
    await harness.clock.advance(40_000);
    const verdict = decideReap(old, { now: harness.clock.now(), random: 0, settings });
    if (verdict.kind === 'leave') throw new Error('the lease should have lapsed');
    expect(await harness.store.reap(old, verdict)).toEqual({ outcome: 'moved' });
  });

  it('a reaper cancels no job without a request', async () => {
    const harness = open();
    const job = await harness.claimed(harness.jobId());
    expect(await harness.store.reap(await entry(harness, job.jobId), { kind: 'cancel' })).toEqual({
      outcome: 'moved',
    });
  });

  it('checkpoint, progress and counters survive a reclaim; a claim that was released unseen is counted', async () => {
    const harness = open();
    const job = await harness.claimed(harness.jobId());
    await harness.store.checkpoint(claimOf(job), {
      seq: 1,
      checkpoint: { page: 3 },
      progress: { done: 0.3 },
    });
    await harness.store.releaseUnknown(job.jobId, 'w/1', harness.dispatch());
    expect(await harness.store.read(job.jobId)).toMatchObject({
      status: 'pending',
      attempt: 1,
      releases: 1,
      checkpoint: { page: 3 },
      progress: { done: 0.3 },
      checkpointSeq: 1,
    });
    const again = await claimedJob(harness.store, { job: { jobId: job.jobId }, owner: 'w/2' });
    expect(again).toMatchObject({ attempt: 2, checkpoint: { page: 3 } });
    expect(await harness.store.releaseUnknown(job.jobId, 'w/1', harness.dispatch())).toMatchObject({
      outcome: 'lost',
    });
  });

  it('a cancellation takes effect at once, through the worker, or at the next claim or sweep', async () => {
    const harness = open();
    const [waiting, running, met] = [harness.jobId(), harness.jobId(), harness.jobId()];
    await harness.store.schedule(newJob(waiting), harness.dispatch());
    expect(await harness.store.cancel(waiting)).toMatchObject({
      outcome: 'written',
      job: { status: 'cancelled' },
    });
    expect(await harness.store.claim({ job: { jobId: waiting }, owner: 'w/1' })).toMatchObject({
      outcome: 'cancelled',
    });
    expect(await harness.store.cancel(waiting)).toMatchObject({
      outcome: 'refused',
      job: { status: 'cancelled' },
    });

    const job = await harness.claimed(running);
    expect(await harness.store.cancel(running)).toMatchObject({
      job: { status: 'running', cancelRequested: true },
    });
    expect(await harness.store.cancelRunning(claimOf(job))).toEqual({ outcome: 'written' });

    const other = await harness.claimed(met);
    await harness.store.cancel(met);
    await harness.store.retry(claimOf(other), { errors: 1, lastError: 'boom', dispatch: harness.dispatch() });
    expect(await harness.store.claim({ job: { jobId: met }, owner: 'w/2' })).toMatchObject({
      outcome: 'cancelRequested',
    });
    const waitingEntry = leaseEntryOf((await harness.store.read(met)) as PendingJob);
    const cancel = { kind: 'cancel' } as const;
    expect(await harness.store.reap({ ...waitingEntry, attempt: 0 }, cancel)).toEqual({ outcome: 'moved' });
    expect(await harness.store.reap(waitingEntry, cancel)).toEqual({ outcome: 'written' });
    expect((await harness.store.read(met))?.status).toBe('cancelled');
  });

  it('a revived job is due when it was to run, while that is ahead; an operator may override it', async () => {
    const harness = open();
    const { store, clock } = harness;
    const revivedAt = async (moment: number, options?: { readonly now?: boolean }) => {
      const jobId = harness.jobId();
      const due = clock.now() + 60_000;
      await store.schedule(newJob(jobId), planDispatch(clock.now(), due, settings));
      await store.cancel(jobId);
      await clock.advance(60_000 + moment);
      const revived = await store.revive(jobId, options);
      if (revived.outcome !== 'written' || revived.job.status !== 'pending') throw new Error(revived.outcome);
      return { dueIn: revived.job.notBefore - clock.now(), dispatches: revived.job.dispatches };
    };
    expect(await revivedAt(-60_000)).toEqual({ dueIn: 60_000, dispatches: 1 });
    expect(await revivedAt(-1)).toEqual({ dueIn: 1, dispatches: 1 });
    expect(await revivedAt(0)).toEqual({ dueIn: 0, dispatches: 1 });
    expect(await revivedAt(1)).toEqual({ dueIn: 0, dispatches: 1 });
    expect(await revivedAt(-60_000, { now: true })).toEqual({ dueIn: 0, dispatches: 1 });
  });

  it('a revived job gets new budgets but keeps its attempt, so that old claims stay fenced', async () => {
    const harness = open();
    const jobId = harness.jobId();
    const failed = claimOf(await harness.claimed(jobId));
    await harness.store.fail(failed, { errors: 5, lastError: 'boom' });
    expect(await harness.store.revive(jobId)).toMatchObject({
      outcome: 'written',
      job: {
        status: 'pending',
        attempt: 1,
        errors: 0,
        crashes: 0,
        lapses: 0,
        releases: 0,
        cancelRequested: false,
      },
    });
    const row = await harness.table.read(jobId);
    for (const name of ['expiresAt', 'finishedAt', 'result']) expect(row).not.toHaveProperty(name);
    expect(await claimedJob(harness.store, { job: { jobId }, owner: 'w/2' })).toMatchObject({ attempt: 2 });
    expect(await harness.store.complete(failed)).toMatchObject({ outcome: 'lost' });
    expect(await harness.store.revive(jobId)).toMatchObject({ outcome: 'refused' });
  });

  it('an operator takes a running job from its worker, and reaches no job that is not there', async () => {
    const harness = open();
    const job = await harness.claimed(harness.jobId());
    expect(await harness.store.takeBack(job.jobId)).toMatchObject({
      outcome: 'written',
      job: { status: 'pending', releases: 1, claims: [{ outcome: 'takenBack' }] },
    });
    expect(await harness.store.complete(claimOf(job))).toMatchObject({ outcome: 'lost' });
    expect(await harness.store.takeBack(job.jobId)).toMatchObject({ outcome: 'refused' });
    for (const verb of ['cancel', 'revive', 'takeBack'] as const)
      expect(await harness.store[verb](harness.jobId())).toEqual({ outcome: 'absent' });
  });

  it('each claim keeps the first line of what ended it, and operators’ acts are remembered with their names', async () => {
    const harness = open();
    const jobId = harness.jobId();
    const first = claimOf(await harness.claimed(jobId));
    await harness.store.retry(first, {
      errors: 1,
      lastError: `Error: ${'no '.repeat(100)}\n    at a line of the stack`,
      dispatch: harness.dispatch(),
    });
    await harness.claimed(jobId, 'w/2');
    await harness.store.takeBack(jobId);
    await harness.store.cancel(jobId);
    await harness.store.revive(jobId);
    const job = await harness.store.read(jobId);
    expect(job?.claims).toMatchObject([{ outcome: 'retried' }, { outcome: 'takenBack' }]);
    expect(job?.claims[0]?.cause).toMatch(/^Error: no no .*… \(cut\)$/u);
    expect(Buffer.byteLength(job?.claims[0]?.cause ?? '')).toBeLessThanOrEqual(120);
    expect(job?.acts.map(({ act, by }) => [act, by])).toEqual([
      ['takeBack', 'tester'],
      ['cancel', 'tester'],
      ['revive', 'tester'],
    ]);
    expect(job?.acted).toBe(3);
    for (let more = 0; more < 2; more++) {
      await harness.store.cancel(jobId);
      await harness.store.revive(jobId);
    }
    const later = await harness.store.read(jobId);
    expect([later?.acted, later?.acts.length]).toEqual([7, 4]);
  });

  it('a finished job is hidden from the second at which its retention ends', async () => {
    const harness = open();
    const job = await harness.prepared('done', harness.jobId());
    if (job.status !== 'done') throw new Error(job.status);
    await harness.clock.advance(job.expiresAt * 1000 - harness.clock.now() - 1);
    expect(await harness.store.read(job.jobId)).toMatchObject({ status: 'done', result: { ok: true } });
    await harness.clock.advance(1);
    expect(await harness.store.read(job.jobId)).toBeUndefined();
    expect(await harness.store.cancel(job.jobId)).toEqual({ outcome: 'absent' });
    expect(await harness.store.claim({ job: newJob(job.jobId), owner: 'w/2' })).toMatchObject({
      outcome: 'finished',
    });
  });

  it('a message that cannot be run is kept once, apart from all jobs, and cannot be revived', async () => {
    const harness = open();
    const messageId = harness.jobId();
    const message = { messageId, reason: 'not JSON', text: '{', bytes: 1, sha256: 'ab' };
    expect(await harness.store.reject(message)).toMatchObject({ outcome: 'written' });
    expect(await harness.store.reject({ ...message, reason: 'again' })).toMatchObject({ outcome: 'written' });
    const kept = await harness.store.read(`bad:${messageId}`);
    expect(kept).toMatchObject({
      status: 'failed',
      lastError: 'not JSON',
      rawMessage: { text: '{', bytes: 1, sha256: 'ab' },
    });
    expect(await harness.isListedAsFailure(`bad:${messageId}`)).toBe(true);
    expect(await harness.store.revive(`bad:${messageId}`)).toMatchObject({
      outcome: 'refused',
    });
  });
}
