import { expect, it } from 'vitest';
import { decideReap } from '../../lib/protocol/decisions/decide-reap.ts';
import { claimOf } from '../../lib/protocol/job.ts';
import type { ReapAction } from '../../lib/protocol/writes/reaper-writes.ts';
import type { Row } from '../../lib/protocol/writes/row-write.ts';
import { newJob } from '../support/jobs.ts';
import { claimedJob, entryOf, type Harness, contractSettings as settings } from './harness.ts';
import { expectIndexed } from './transitions.ts';

/** Many rows at once: a verdict for each, whatever became of the others. */
export function describeBatches(open: () => Harness): void {
  const ids = (harness: Harness, count: number) => Array.from({ length: count }, () => harness.jobId());
  const claimAll = (harness: Harness, jobIds: readonly string[], worker = 'w') =>
    harness.store.claimMany(jobIds.map((jobId) => ({ job: newJob(jobId), owner: `${worker}/${jobId}` })));
  const outcomes = (results: readonly { readonly outcome: string }[]) =>
    results.map(({ outcome }) => outcome);
  const withoutChange = ({ changedBy: _, jobId: __, leaseShard: ___, leaseOwner: ____, ...rest }: Row) =>
    rest;

  it.each([0, 1, 3, 26])('claims and completes %i new jobs, in the order given', async (count) => {
    const harness = open();
    const jobIds = ids(harness, count);
    const claims = await claimAll(harness, jobIds);
    expect(outcomes(claims)).toEqual(jobIds.map(() => 'claimed'));
    const jobs = claims.flatMap((claim) => (claim.outcome === 'claimed' ? [claim.job] : []));
    expect(jobs.map(({ jobId }) => jobId)).toEqual(jobIds);
    const done = await harness.store.completeMany(jobs.map((job, n) => ({ claim: claimOf(job), result: n })));
    expect(outcomes(done)).toEqual(jobIds.map(() => 'written'));
    const last = jobIds.at(-1);
    if (last !== undefined) {
      expect(await harness.store.read(last)).toMatchObject({ status: 'done', result: count - 1 });
      await expectIndexed(harness, last);
    }
  });

  it('leaves the same row, and reports the same job, as a single claim does', async () => {
    const harness = open();
    const [single = '', ...many] = ids(harness, 4);
    const job = await claimedJob(harness.store, { job: newJob(single), owner: 'w/1' });
    const [batched] = await claimAll(harness, many);
    if (batched?.outcome !== 'claimed') throw new Error('the claim should have been granted');
    const [one, other] = await Promise.all([
      harness.table.read(single),
      harness.table.read(batched.job.jobId),
    ]);
    expect(withoutChange(other ?? {})).toEqual(withoutChange(one ?? {}));
    const {
      jobId: _,
      leaseOwner: __,
      changedBy: ___,
      leaseShard: ____,
      rowAtClaim: found,
      ...reported
    } = batched.job;
    expect(found).toMatchObject({ crashes: 0, releases: 0, checkpointBytes: 0 });
    expect(job).toMatchObject(reported);
    await harness.store.complete(claimOf(job), 1);
    await harness.store.completeMany(
      [batched.job, ...many.slice(1).map((jobId) => ({ ...job, jobId, leaseOwner: `w/${jobId}` }))].map(
        (each) => ({
          claim: claimOf(each),
          result: 1,
        }),
      ),
    );
    const ended = await Promise.all([single, batched.job.jobId].map((jobId) => harness.table.read(jobId)));
    const [a, b] = ended.map((row) => ({ ...withoutChange(row ?? {}), claim01: undefined }));
    expect(b).toEqual(a);
  });

  it('claims among jobs that exist already exactly those that are to be had', async () => {
    const harness = open();
    const [fresh = '', waiting = '', later = '', held = '', done = '', cancelled = '', wished = ''] = ids(
      harness,
      7,
    );
    await harness.store.schedule(
      newJob(waiting, { payload: '"first"', leaseMs: 50_000 }),
      harness.dispatch(),
    );
    const ahead = { ...harness.dispatch(), notBefore: harness.clock.now() + 60_000 };
    await harness.store.schedule(newJob(later), ahead);
    await harness.prepared('running', held);
    await harness.prepared('done', done);
    await harness.prepared('cancelled', cancelled);
    await harness.prepared('pending', wished);
    await harness.put({ ...(await harness.table.read(wished)), cancelRequested: true });
    const results = await claimAll(harness, [fresh, waiting, later, held, done, cancelled, wished], 'n');
    expect(outcomes(results)).toEqual([
      'claimed',
      'claimed',
      'notYet',
      'held',
      'finished',
      'cancelled',
      'cancelRequested',
    ]);
    expect(results[1]).toMatchObject({
      job: { payload: '"first"', attempt: 1, leaseUntil: harness.clock.now() + 50_000 },
    });
  });

  it('claims by hints, too, and finds that one of them has no row', async () => {
    const harness = open();
    const [a = '', b = '', c = '', gone = ''] = ids(harness, 4);
    for (const jobId of [a, b, c]) await harness.store.schedule(newJob(jobId), harness.dispatch());
    const results = await harness.store.claimMany(
      [a, gone, b, c].map((jobId) => ({ job: { jobId }, owner: `w/${jobId}` })),
    );
    expect(outcomes(results)).toEqual(['claimed', 'absent', 'claimed', 'claimed']);
  });

  it('grants a job that was sent twice once, and keeps the others of its batch out of it', async () => {
    const harness = open();
    const [twice = '', a = '', b = '', c = ''] = ids(harness, 4);
    const results = await harness.store.claimMany(
      [twice, a, twice, b, c].map((jobId, n) => ({ job: newJob(jobId), owner: `w/${n}` })),
    );
    expect(outcomes([results[1], results[3], results[4]].flatMap((each) => each ?? []))).toEqual([
      'claimed',
      'claimed',
      'claimed',
    ]);
    expect(outcomes([results[0], results[2]].flatMap((each) => each ?? [])).sort()).toEqual([
      'claimed',
      'held',
    ]);
    expect((await harness.store.read(twice))?.attempt).toBe(1);
  });

  it('refuses in a batch exactly the completions of stale claims', async () => {
    const harness = open();
    const jobs = (await claimAll(harness, ids(harness, 5))).flatMap((each) =>
      each.outcome === 'claimed' ? [each.job] : [],
    );
    const [, stolen, , gone] = jobs;
    if (stolen === undefined || gone === undefined) throw new Error('five claims should have been granted');
    await harness.store.takeBack(stolen.jobId);
    const claims = jobs
      .map(claimOf)
      .map((claim) => (claim.jobId === gone.jobId ? { ...claim, jobId: harness.jobId() } : claim));
    const results = await harness.store.completeMany(claims.map((claim) => ({ claim })));
    expect(outcomes(results)).toEqual(['written', 'lost', 'written', 'lost', 'written']);
    expect(results[1]).toMatchObject({ job: { status: 'pending' } });
    expect(await harness.store.read(stolen.jobId)).toMatchObject({ status: 'pending', releases: 1 });
  });

  it('a batch of heartbeats renews exactly the held leases and reports a cancellation', async () => {
    const harness = open();
    const jobs = (await claimAll(harness, ids(harness, 6))).flatMap((each) =>
      each.outcome === 'claimed' ? [each.job] : [],
    );
    const [, stolen, wished, gone, old] = jobs;
    if (stolen === undefined || wished === undefined || gone === undefined || old === undefined)
      throw new Error('six claims should have been granted');
    await harness.store.takeBack(stolen.jobId);
    await harness.store.cancel(wished.jobId);
    // As a hand-edited row may be: without the attribute that a batch has to ask about.
    const { cancelRequested: _, ...bare } = (await harness.table.read(old.jobId)) ?? {};
    await harness.put(bare);
    const leaseUntil = harness.clock.now() + 900_000;
    const beats = jobs
      .map(claimOf)
      .map((claim) => (claim.jobId === gone.jobId ? { ...claim, jobId: harness.jobId() } : claim))
      .map((claim) => ({ claim, leaseUntil }));
    const results = await harness.store.heartbeatMany(beats);
    expect(outcomes(results)).toEqual(['extended', 'lost', 'extended', 'lost', 'extended', 'extended']);
    expect(results.map((each) => 'cancelRequested' in each && each.cancelRequested)).toEqual([
      ...[false, false, true, false, false, false],
    ]);
    for (const job of [jobs[0], wished, old])
      expect(await harness.store.read(job?.jobId ?? '')).toMatchObject({ status: 'running', leaseUntil });
    await expectIndexed(harness, wished.jobId);
    expect(await harness.store.read(stolen.jobId)).toMatchObject({ status: 'pending' });
    // A beat that is not later than the lease changes nothing, and the lease is still held.
    const [again] = await harness.store.heartbeatMany(beats.slice(0, 1));
    expect(again).toMatchObject({ outcome: 'extended' });
  });

  it('reaps each kind of lapsed lease in one go, and leaves alone what has moved on', async () => {
    const harness = open();
    const [crashed = '', killer = '', forgotten = '', wished = '', moved = '', beating = ''] = ids(
      harness,
      6,
    );
    await harness.claimed(crashed);
    await harness.claimed(killer);
    await harness.put({ ...(await harness.table.read(killer)), lapses: 4 });
    await harness.store.schedule(newJob(forgotten), harness.dispatch());
    await harness.claimed(wished);
    await harness.store.cancel(wished);
    const gone = await harness.claimed(moved);
    const alive = await harness.claimed(beating);
    const rows = await Promise.all(
      [crashed, killer, forgotten, wished, moved, beating].map((jobId) => harness.table.read(jobId)),
    );
    await harness.store.complete(claimOf(gone));
    await harness.store.heartbeat(claimOf(alive), harness.clock.now() + 90_000);
    await harness.clock.advance(100_000);
    const verdicts = rows.map((row) => {
      const entry = entryOf(row ?? {});
      const context = { now: harness.clock.now(), random: 0, settings };
      return { entry, action: decideReap(entry, context) as ReapAction };
    });
    expect(verdicts.map(({ action }) => action.kind)).toEqual([
      'reclaim',
      'quarantine',
      'redispatch',
      'cancel',
      'reclaim',
      'reclaim',
    ]);
    const written = ['written', 'written', 'written', 'written', 'moved', 'moved'];
    expect(outcomes(await harness.store.reapMany(verdicts))).toEqual(written);
    expect(outcomes(await harness.store.reapMany(verdicts))).toEqual(written.map(() => 'moved'));
    const after = await Promise.all(verdicts.map(({ entry }) => harness.store.read(entry.jobId)));
    expect(after).toMatchObject([
      { status: 'pending', crashes: 0, lapses: 1, attempt: 1, lastError: 'worker lease expired' },
      { status: 'failed', crashes: 0, lapses: 5, lastError: 'worker lease expired' },
      { status: 'pending', dispatches: 2, attempt: 0 },
      { status: 'cancelled', crashes: 0, claims: [{ outcome: 'lapsed' }] },
      { status: 'done' },
      { status: 'running', crashes: 0 },
    ]);
    for (const { entry } of verdicts) await expectIndexed(harness, entry.jobId);
  });
}
