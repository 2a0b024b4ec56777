import { describe, expect, it } from 'vitest';
import { type Claim, claimOf } from '../../lib/protocol/job.ts';
import { claimedJob, entryOf, type Harness } from './harness.ts';

type FencedVerb = (harness: Harness, claim: Claim) => Promise<{ readonly outcome: string }>;

/** Everything that the holder of a lease may do with it. */
const verbs: Readonly<Record<string, FencedVerb>> = {
  heartbeat: ({ store, clock }, claim) => store.heartbeat(claim, clock.now() + 900_000),
  checkpoint: ({ store }, claim) => store.checkpoint(claim, { seq: 99, checkpoint: 'stale' }),
  complete: ({ store }, claim) => store.complete(claim, 'stale'),
  retry: ({ store, dispatch }, claim) =>
    store.retry(claim, { errors: 9, lastError: 'stale', dispatch: dispatch() }),
  fail: ({ store }, claim) => store.fail(claim, { errors: 9, lastError: 'stale' }),
  release: ({ store, dispatch }, claim) =>
    store.release(claim, { errors: 9, releases: 9, lastError: 'stale', dispatch: dispatch() }),
  cancelRunning: ({ store }, claim) => store.cancelRunning(claim),
};

/** A worker that lost its lease, stood still, and goes on as if nothing had happened. */
export function describeFencing(open: () => Harness): void {
  /** The job runs again, under another claim, and an operator asks for its end: the most that a zombie could hope for. */
  const runAgain = async (harness: Harness, owner: string) => {
    const jobId = harness.jobId();
    const old = claimOf(await harness.claimed(jobId, 'w1/a'));
    const lapsed = entryOf((await harness.table.read(jobId)) ?? {});
    const dispatch = harness.dispatch();
    await harness.store.reap(lapsed, { kind: 'reclaim', lapses: 1, lastError: 'lease expired', dispatch });
    const next = await claimedJob(harness.store, { job: { jobId }, owner });
    await harness.store.cancel(jobId);
    return { old, next };
  };

  describe.each(Object.keys(verbs))('%s', (name) => {
    const verb = verbs[name] as FencedVerb;

    it.each([
      ['a zombie whose job runs at another worker', 'w2/b', (old: Claim) => old],
      ['a zombie of the same worker', 'w1/b', (old: Claim) => old],
      [
        'a zombie that knows the owner but not the attempt',
        'w1/a2',
        (old: Claim) => ({ ...old, owner: 'w1/a2' }),
      ],
      [
        'a zombie that guesses the attempt but not the owner',
        'w2/b',
        (old: Claim) => ({ ...old, attempt: 2 }),
      ],
    ])('is refused to %s, and shows it the job', async (_, owner, zombie) => {
      const harness = open();
      const { old, next } = await runAgain(harness, owner);
      const before = await harness.table.read(old.jobId);
      const outcome = await verb(harness, zombie(old));
      expect(outcome).toMatchObject({
        outcome: 'lost',
        job: { status: 'running', leaseOwner: next.leaseOwner, attempt: 2 },
      });
      expect(await harness.table.read(old.jobId)).toEqual(before);
    });

    it('is granted to the holder, also after the lease lapsed: only the reaper takes it away', async () => {
      const harness = open();
      const { next } = await runAgain(harness, 'w2/b');
      await harness.clock.advance(600_000);
      expect((await verb(harness, claimOf(next))).outcome).toMatch(/written|extended/);
    });

    it('is refused where there is no row', async () => {
      const harness = open();
      const claim = { jobId: harness.jobId(), owner: 'w1/a', attempt: 1, startedAt: 0 };
      expect(await verb(harness, claim)).toEqual({ outcome: 'lost' });
      expect(await harness.table.read(claim.jobId)).toBeUndefined();
    });
  });

  it('a claim cannot claim again after it ended, as its own late repeat would', async () => {
    const harness = open();
    const jobId = harness.jobId();
    const claim = claimOf(await harness.claimed(jobId, 'w1/a'));
    await harness.store.release(claim, { errors: 0, releases: 1, dispatch: harness.dispatch() });
    expect(await harness.store.claim({ job: { jobId }, owner: 'w1/a' })).toMatchObject({
      outcome: 'contended',
    });
    expect((await harness.store.read(jobId))?.attempt).toBe(1);
  });

  it('a cancellation without a request is refused, even to the holder', async () => {
    const harness = open();
    const claim = claimOf(await harness.claimed(harness.jobId()));
    expect(await harness.store.cancelRunning(claim)).toMatchObject({
      outcome: 'lost',
      job: { status: 'running' },
    });
  });

  it('a heartbeat never shortens a lease, and reports a cancellation request', async () => {
    const harness = open();
    const job = await harness.claimed(harness.jobId());
    const claim = claimOf(job);
    const beat = (by: number) => harness.store.heartbeat(claim, job.leaseUntil + by);
    expect(await beat(10)).toEqual({ outcome: 'extended', cancelRequested: false });
    await harness.store.cancel(job.jobId);
    for (const by of [9, 10]) {
      expect(await beat(by)).toEqual({ outcome: 'extended', cancelRequested: true });
      expect(await harness.store.read(job.jobId)).toMatchObject({ leaseUntil: job.leaseUntil + 10 });
    }
    expect(await beat(11)).toEqual({ outcome: 'extended', cancelRequested: true });
    expect(await harness.store.read(job.jobId)).toMatchObject({ leaseUntil: job.leaseUntil + 11 });
  });

  it('a checkpoint that is not newer changes nothing, and never the lease', async () => {
    const harness = open();
    const job = await harness.claimed(harness.jobId());
    const keep = (seq: number, checkpoint: string) =>
      harness.store.checkpoint(claimOf(job), { seq, checkpoint });
    await keep(2, 'second');
    for (const seq of [1, 2]) expect(await keep(seq, 'older')).toEqual({ outcome: 'written' });
    expect(await harness.store.read(job.jobId)).toMatchObject({
      checkpoint: 'second',
      checkpointSeq: 2,
      leaseUntil: job.leaseUntil,
    });
    await harness.store.checkpoint(claimOf(job), { seq: 3, progress: 0.5 });
    expect(await harness.store.read(job.jobId)).toMatchObject({ checkpoint: 'second', progress: 0.5 });
  });
}
