import { describe, expect, it } from 'vitest';
import type { Claim } from '../../../lib/protocol/job.ts';
import type { Table } from '../../../lib/protocol/ports.ts';
import type { Row } from '../../../lib/protocol/writes/row-write.ts';
import { memoryStore } from '../../support/memory-store.ts';
import { row } from '../../support/rows.ts';

const dispatch = { notBefore: 0, leaseUntil: 60_000, dispatches: 1 };
const claimOn = (jobId: string): Claim => ({ jobId, owner: 'w/1', attempt: 1, startedAt: 60_000 });
const claim = claimOn('j1');
const next = { owner: 'w/2', leaseMs: 30_000, crashes: 1, releases: 0, lastError: 'crashed', diedAt: 61_000 };

/** Running jobs of worker `w/1`. */
function stage(rows: readonly Row[] = [row({ status: 'running' })], on: Partial<Table> = {}) {
  const set = memoryStore({ rows, on });
  return { ...set, stored: async () => (await set.memory.read('j1')) ?? {} };
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
