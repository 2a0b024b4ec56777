import { describe, expect, it } from 'vitest';
import type { Claim } from '../../../lib/protocol/job.ts';
import type { Table } from '../../../lib/protocol/ports.ts';
import { createJobStore } from '../../../lib/protocol/store/job-store.ts';
import type { Row, RowWrite } from '../../../lib/protocol/writes/row-write.ts';
import { createFakeClock } from '../../../lib/testing/fake-clock.ts';
import { createFakeRandom } from '../../../lib/testing/fake-random.ts';
import { createMemoryTable } from '../../../lib/testing/memory-table.ts';
import { settings } from '../../support/jobs.ts';
import { row } from '../../support/rows.ts';

const dispatch = { notBefore: 0, leaseUntil: 60_000, dispatches: 1 };
const claimOn = (jobId: string): Claim => ({ jobId, owner: 'w/1', attempt: 1, startedAt: 60_000 });
const claim = claimOn('j1');
const next = { owner: 'w/2', leaseMs: 30_000, crashes: 1, releases: 0, lastError: 'crashed', diedAt: 61_000 };

/** Running jobs of worker `w/1`; `on` stands in for some of the table. */
function stage(rows: readonly Row[] = [row({ status: 'running' })], on: Partial<Table> = {}) {
  const memory = createMemoryTable();
  for (const each of rows) memory.put(each);
  const writes: RowWrite[] = [];
  const table: Table = {
    ...memory,
    ...on,
    apply: (write) => {
      writes.push(write);
      return (on.apply ?? memory.apply)(write);
    },
  };
  const clock = createFakeClock();
  const store = createJobStore({ table, clock, random: createFakeRandom(), settings, actor: 'w' });
  const stored = async (jobId = 'j1') => (await memory.read(jobId)) ?? {};
  const expiresAt = Math.ceil((clock.now() + settings.rowRetentionMs) / 1000);
  return {
    memory,
    store,
    writes,
    stored,
    expiresAt,
    names: () => writes.map(({ transition }) => transition),
  };
}
type Store = ReturnType<typeof stage>['store'];

describe('an error’s text', () => {
  const ends: [string, (store: Store, lastError: string) => Promise<unknown>][] = [
    ['retry', (store, lastError) => store.retry(claim, { errors: 1, lastError, dispatch })],
    ['fail', (store, lastError) => store.fail(claim, { errors: 1, lastError })],
    ['release', (store, lastError) => store.release(claim, { errors: 1, releases: 0, lastError, dispatch })],
    ['restart', (store, lastError) => store.restart(claim, { ...next, lastError })],
  ];

  it.each(ends)('stays on the row up to 250 bytes: %s', async (name, end) => {
    const { store, stored, names } = stage();
    await end(store, 'ü'.repeat(125));
    expect(names()).toEqual([name]);
    expect(await stored()).toMatchObject({
      lastError: 'ü'.repeat(125),
      claim01: { cause: expect.any(String) },
    });
  });

  it('is left as it was by a release without one', async () => {
    const { store, stored } = stage([row({ status: 'running', lastError: 'before' })]);
    await store.release(claim, { errors: 0, releases: 1, dispatch });
    expect(await stored()).toMatchObject({ lastError: 'before', releases: 1 });
  });
});

describe('the end of a claim', () => {
  it('keeps a result on the row if there is room, and outside it if not', async () => {
    // Of a thousand bytes a usual row takes 550, and the name six.
    const fits = stage();
    await fits.store.complete(claim, 'x'.repeat(442));
    expect(fits.names()).toEqual(['complete']);
    const larger = stage();
    await larger.store.complete(claim, 'x'.repeat(443));
    expect(larger.writes).toMatchObject([
      { transition: 'putData', jobId: expect.stringMatching(/^j1#r1\.u\d+$/) },
      { transition: 'complete', set: { result: { bytes: 445 } } },
    ]);
  });

  it('distinguishes no result from null', async () => {
    const nothing = stage();
    await nothing.store.complete(claim);
    expect(await nothing.stored()).not.toHaveProperty('result');
    const nil = stage();
    await nil.store.complete(claim, null);
    expect(await nil.stored()).toMatchObject({ result: 'null' });
  });

  it('is reported for each of many in the given order, regardless of the others', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `j${i}`);
    const rows = names.map((jobId) => row({ jobId, status: jobId === 'j5' ? 'pending' : 'running' }));
    const broken = new Error('no room');
    const memory = createMemoryTable();
    for (const each of rows) memory.put(each);
    const { store } = stage(rows, {
      applyMany: (many) =>
        Promise.all(
          many.map(async (write) =>
            write.jobId === 'j7' ? { applied: 'failed', error: broken } : memory.apply(write),
          ),
        ),
    });
    const outcomes = await store.completeMany(
      names.map((jobId, i) => ({ claim: claimOn(jobId), result: i === 3 ? (1n as never) : i })),
    );
    expect(outcomes).toMatchObject(
      names.map((jobId) => {
        if (jobId === 'j3') return { outcome: 'failed', error: { code: 'NOT_JSON' } };
        if (jobId === 'j7') return { outcome: 'failed', error: broken };
        return { outcome: jobId === 'j5' ? 'lost' : 'written' };
      }),
    );
    expect((await memory.read('j9'))?.result).toBe('9');
    expect((await memory.read('j3'))?.status).toBe('running');
  });
});

describe('many beats', () => {
  const beats = ['j1', 'j2', 'j3'].map((jobId) => ({ claim: claimOn(jobId), leaseUntil: 130_000 }));
  const held = (jobId: string, over = {}) => row({ jobId, status: 'running', ...over });

  it('whose lease ends later already are not sent again, whatever was asked for', async () => {
    const later = { leaseUntil: 130_000, cancelRequested: true };
    const { store, names } = stage([held('j1', later)]);
    expect(await store.heartbeatMany(beats.slice(0, 1))).toEqual([
      { outcome: 'extended', cancelRequested: true },
    ]);
    expect(names()).toEqual([]);
  });

  it('fail one by one, each for its own reason', async () => {
    const [noRow, noReply] = [new Error('no row'), new Error('no reply')];
    const { store } = stage([], {
      applyMany: async () => [
        { applied: 'failed', error: noRow },
        { applied: false, row: held('j2', { cancelRequested: true }) },
        { applied: false, row: undefined },
      ],
      apply: () => Promise.reject(noReply),
    });
    expect(await store.heartbeatMany(beats)).toEqual([
      { outcome: 'failed', error: noRow },
      { outcome: 'failed', error: noReply },
      { outcome: 'lost' },
    ]);
  });
});

describe('a restart', () => {
  const refusing = (refusal: Row | undefined) =>
    stage([], { apply: async () => ({ applied: false, row: refusal }) }).store;

  it('fails the job whose data is gone, unless that has moved on', async () => {
    const payload = { in: 'p1', parts: 1, bytes: 3 };
    const { store, stored } = stage([row({ status: 'running', payload })]);
    expect(await store.restart(claim, next)).toMatchObject({
      ...{ outcome: 'withoutData', job: { attempt: 2 }, error: { code: 'MISSING_DATA' } },
    });
    expect(await stored()).toMatchObject({ status: 'failed' });
    const granted = row({ status: 'running', payload, leaseOwner: 'w/2', attempt: 2 });
    const moved = refusing(granted);
    expect(await moved.restart(claim, next)).toMatchObject({ outcome: 'lost', job: { leaseOwner: 'w/2' } });
  });

  it.each([
    ['cancelRequested', { status: 'running', cancelRequested: true }],
    ['lost', { status: 'running', cancelRequested: false }],
    ['lost', { status: 'running', cancelRequested: true, leaseOwner: 'w/9' }],
    ['lost', { cancelRequested: true }],
  ])('that is refused comes out as %s by a row with %j', async (outcome, over) => {
    expect(await refusing(row(over)).restart(claim, next)).toMatchObject({ outcome });
  });
});
