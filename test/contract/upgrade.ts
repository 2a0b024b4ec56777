import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemChance } from '../../lib/aws/clock.ts';
import { claimOf, type RunningJob } from '../../lib/protocol/job.ts';
import { MAX_INLINE_ROW_BYTES } from '../../lib/protocol/rows/data-pointer.ts';
import { parseJob } from '../../lib/protocol/rows/parse-row.ts';
import { rowBytes } from '../../lib/protocol/rows/row-bytes.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import type { ReapAction } from '../../lib/protocol/writes/reaper-writes.ts';
import type { Row, RowWrite } from '../../lib/protocol/writes/row-write.ts';
import { rowChecks } from '../../lib/tools/cli/doctor/row-checks.ts';
import { defined } from '../../lib/wire/defined.ts';
import { newJob } from '../support/jobs.ts';
import { rowOf } from './data-harness.ts';
import { claimedJob, contractSettings, entryOf, type Harness } from './harness.ts';

const fixture = JSON.parse(
  readFileSync(join(import.meta.dirname, '..', 'fixtures', 'rows-of-0.1.json'), 'utf8'),
) as { readonly now: number; readonly rows: readonly Row[] };

const TIMES = ['leaseUntil', 'notBefore', 'startedAt', 'heartbeatAt', 'createdAt', 'finishedAt', 'failedAt'];

/** Puts a row of version 0.1 under an id of its own, as if it had been written just now. */
async function oldRow(
  harness: Harness,
  name: string,
): Promise<{ readonly jobId: string; readonly row: Row }> {
  const found = fixture.rows.find((row) => row.jobId === name);
  if (found === undefined) throw new Error(`no fixture '${name}'`);
  const jobId = name.startsWith('bad:') ? `bad:${harness.jobId()}` : harness.jobId();
  const later = harness.clock.now() - fixture.now;
  const moved = TIMES.filter((time) => typeof found[time] === 'number');
  const times = moved.map((time) => [time, (found[time] as number) + later]);
  const expires = typeof found.expiresAt === 'number' ? { expiresAt: found.expiresAt + later / 1000 } : {};
  const row = { ...found, ...Object.fromEntries(times), ...expires, jobId };
  await harness.put(row);
  return { jobId, row };
}

/** Rows of the version before are read and finished by every verb. */
export function describeUpgrade(open: () => Harness): void {
  const claimOfRow = (row: Row) => claimOf(parseJob(row) as RunningJob);

  it.each(fixture.rows.map(({ jobId }) => String(jobId)).filter((name) => name !== 'leader:reaper'))(
    '%s is read as what it was',
    async (name) => {
      const harness = open();
      const { jobId, row } = await oldRow(harness, name);
      expect(row).not.toHaveProperty('format');
      expect(await harness.store.read(jobId)).toMatchObject({
        ...{ jobId, status: row.status, payload: row.payload, attempt: row.attempt, elsewhere: [] },
        ...defined({ lastError: row.lastError }),
      });
    },
  );

  it.each(['pending-fresh', 'pending-retried'])('%s is claimed, made small, and finished', async (name) => {
    const harness = open();
    const { jobId, row } = await oldRow(harness, name);
    await harness.clock.advance(120_000);
    const job = await claimedJob(harness.store, { job: { jobId }, owner: 'w/1' });
    expect([job.payload, JSON.stringify(job.checkpoint)]).toEqual([row.payload, row.checkpoint]);
    const stored = (await harness.table.read(jobId)) ?? {};
    expect(stored.format).toBe(2);
    expect(rowBytes(stored)).toBeLessThanOrEqual(MAX_INLINE_ROW_BYTES);
    expect(await harness.store.heartbeat(claimOf(job), job.leaseUntil + 1)).toMatchObject({
      outcome: 'extended',
    });
    expect(await harness.store.complete(claimOf(job), 'ok')).toEqual({ outcome: 'written' });
    const claims = (await harness.store.read(jobId))?.claims.map(({ outcome }) => outcome);
    expect(claims).toEqual(name === 'pending-retried' ? ['retried', 'done'] : ['done']);
  });

  describe.each(['running', 'running-fat'])('%s', (name) => {
    it.each(['complete', 'retry', 'fail', 'release', 'checkpoint', 'heartbeat'] as const)(
      'takes the %s of the worker that has it',
      async (verb) => {
        const harness = open();
        const { jobId, row } = await oldRow(harness, name);
        const claim = claimOfRow(row);
        const dispatch = harness.dispatch();
        const verbs = {
          complete: () => harness.store.complete(claim, 'r'.repeat(2_000)),
          retry: () => harness.store.retry(claim, { errors: 1, lastError: 'e'.repeat(2_000), dispatch }),
          fail: () => harness.store.fail(claim, { errors: 1, lastError: 'boom' }),
          release: () => harness.store.release(claim, { errors: 0, releases: 1, dispatch }),
          checkpoint: () => harness.store.checkpoint(claim, { seq: 2, checkpoint: 'c'.repeat(2_000) }),
          heartbeat: () => harness.store.heartbeat(claim, claim.startedAt + 90_000),
        };
        expect((await verbs[verb]()).outcome).toMatch(/written|extended/);
        expect((await harness.store.read(jobId))?.payload).toBe(row.payload);
      },
    );

    const actions = (harness: Harness): Record<string, ReapAction> => ({
      reclaim: {
        ...{ kind: 'reclaim', chargedTo: 'crashes', crashes: 1, releases: 0, lastError: 'lapsed' },
        dispatch: harness.dispatch(),
      },
      fail: { kind: 'fail', quarantined: true, crashes: 3, releases: 0, lastError: 'lapsed' },
    });

    it.each(['reclaim', 'fail'])('is reaped: %s, alone and in a batch', async (kind) => {
      const harness = open();
      const action = actions(harness)[kind] as ReapAction;
      const olds = await Promise.all(Array.from({ length: 5 }, () => oldRow(harness, name)));
      const [first, ...others] = olds.map(({ row }) => ({ entry: entryOf(row), action }));
      if (first === undefined) throw new Error('five rows');
      expect(await harness.store.reap(first.entry, action)).toEqual({ outcome: 'written' });
      expect(await harness.store.reapMany(others)).toEqual(others.map(() => ({ outcome: 'written' })));
      for (const { jobId } of olds)
        expect((await harness.store.read(jobId))?.status).toBe(kind === 'fail' ? 'failed' : 'pending');
    });

    it('is cancelled and taken back by operators', async () => {
      const harness = open();
      const { jobId, row } = await oldRow(harness, name);
      expect(await harness.store.cancel(jobId)).toMatchObject({ outcome: 'written' });
      expect(await harness.store.cancelRunning(claimOfRow(row))).toEqual({ outcome: 'written' });
      const other = await oldRow(harness, name);
      expect(await harness.store.takeBack(other.jobId)).toMatchObject({ outcome: 'written' });
    });
  });

  it('a wish to cancel is heard', async () => {
    const harness = open();
    const { row } = await oldRow(harness, 'running-cancel-requested');
    const claim = claimOfRow(row);
    expect(await harness.store.heartbeat(claim, claim.startedAt + 90_000)).toEqual({
      outcome: 'extended',
      cancelRequested: true,
    });
    expect(await harness.store.cancelRunning(claim)).toEqual({ outcome: 'written' });
  });

  it.each(['failed', 'failed-quarantined', 'cancelled'])('%s is revived, and runs', async (name) => {
    const harness = open();
    const { jobId } = await oldRow(harness, name);
    expect(await harness.store.revive(jobId)).toMatchObject({ outcome: 'written' });
    expect(await harness.table.read(jobId)).not.toHaveProperty('failedAt');
    expect(await harness.store.claim({ job: { jobId }, owner: 'w/1' })).toMatchObject({ outcome: 'claimed' });
  });

  it('failures are in no list until the doctor has put them there; nothing else is wrong with any row', async () => {
    const harness = open();
    for (const { jobId: name } of fixture.rows.filter((row) => row.jobId !== 'leader:reaper')) {
      const { jobId, row } = await oldRow(harness, String(name));
      const context = {
        now: harness.clock.now(),
        settings: contractSettings,
        changedBy: () => `doctor/${harness.jobId()}`,
      };
      const findings = Object.values(rowChecks).flatMap((check) => check(row, context) ?? []);
      expect([name, findings.map(({ says }) => says.includes('no list of failures'))]).toEqual([
        name,
        row.status === 'failed' ? [true] : [],
      ]);
      const write = findings[0]?.repair?.write;
      if (write === undefined) continue;
      expect(await harness.isListedAsFailure(jobId)).toBe(false);
      expect((await harness.table.apply(write)).applied).toBe(true);
      expect(await harness.isListedAsFailure(jobId)).toBe(true);
    }
  });

  it('done stays done, and a rejected message is not run', async () => {
    const harness = open();
    const { jobId } = await oldRow(harness, 'done');
    expect(await harness.store.claim({ job: { jobId }, owner: 'w/1' })).toMatchObject({
      outcome: 'finished',
    });
    const bad = await oldRow(harness, 'bad:message-1');
    expect(await harness.store.revive(bad.jobId)).toMatchObject({ outcome: 'refused' });
  });

  it('many are reclaimed by two batches instead of one, and none by itself', async () => {
    const harness = open();
    const rows = await Promise.all(Array.from({ length: 25 }, () => oldRow(harness, 'running')));
    await harness.clock.advance(120_000);
    const writes: number[] = [];
    const table = {
      ...harness.table,
      apply: () => Promise.reject(new Error('one by one')),
      applyMany: (many: readonly RowWrite[]) => {
        writes.push(many.length);
        return harness.table.applyMany(many);
      },
    };
    const { clock } = harness;
    const reaper = { table, clock, chance: systemChance, settings: contractSettings, actor: 'reaper' };
    const action: ReapAction = {
      ...{ kind: 'reclaim', chargedTo: 'crashes', crashes: 1, releases: 0, lastError: 'lapsed' },
      dispatch: harness.dispatch(),
    };
    const outcomes = await createJobStore(reaper).reapMany(
      rows.map(({ row }) => ({ entry: entryOf(row), action })),
    );
    expect(new Set(outcomes.map(({ outcome }) => outcome))).toEqual(new Set(['written']));
    expect(writes).toEqual([25, 25]);
  });

  describe('a row of a newer version', () => {
    it('is left alone by workers, reapers and operators, and they say so', async () => {
      const harness = open();
      const [pending, running] = [harness.jobId(), harness.jobId()];
      await harness.prepared('pending', pending);
      await harness.prepared('running', running);
      for (const jobId of [pending, running])
        await harness.put({ ...(await rowOf(harness, jobId)), format: 3 });
      const before = await Promise.all([pending, running].map((jobId) => harness.table.read(jobId)));
      const claims = await harness.store.claimMany([
        { job: newJob(pending), owner: 'w/9' },
        { job: { jobId: running }, owner: 'w/9' },
      ]);
      expect(claims).toMatchObject([{ outcome: 'newer' }, { outcome: 'newer' }]);
      const entries = before.map((row) => entryOf({ ...row, format: 2 }));
      const dispatch = harness.dispatch();
      const verdicts = entries.map((entry) => ({ entry, action: { kind: 'redispatch' as const, dispatch } }));
      expect(await harness.store.reapMany(verdicts)).toMatchObject([
        { outcome: 'newer', error: { code: 'NEWER_FORMAT' } },
        { outcome: 'newer', error: { code: 'NEWER_FORMAT' } },
      ]);
      for (const verb of ['cancel', 'revive', 'takeBack'] as const)
        await expect(harness.store[verb](running)).rejects.toMatchObject({ code: 'NEWER_FORMAT' });
      expect(await Promise.all([pending, running].map((jobId) => harness.table.read(jobId)))).toEqual(before);
    });
  });
}
