import { describe, expect, it } from 'vitest';
import type { Table } from '../../../lib/protocol/ports.ts';
import { createJobStore } from '../../../lib/protocol/store/job-store.ts';
import type { ReapAction } from '../../../lib/protocol/writes/reaper-writes.ts';
import type { Row, RowWrite } from '../../../lib/protocol/writes/row-write.ts';
import { createHandChance } from '../../../lib/testing/hand-chance.ts';
import { createHandClock } from '../../../lib/testing/hand-clock.ts';
import { createMemoryTable } from '../../../lib/testing/memory-table.ts';
import { leaseEntry, settings } from '../../support/jobs.ts';
import { row } from '../../support/rows.ts';

const dispatch = { notBefore: 0, leaseUntil: 260_000, dispatches: 1 };
const charged: ReapAction = {
  ...{ kind: 'reclaim', chargedTo: 'crashes', crashes: 1, releases: 0, lastError: 'lapsed', dispatch },
};
const excused: ReapAction = {
  ...{ ...charged, chargedTo: 'releases', crashes: 0, releases: 1 },
  ...{ excuse: 'the reaper was late', otherwise: charged },
};
const entry = leaseEntry();
const lapsed = (over: Readonly<Record<string, unknown>> = {}) =>
  row({ status: 'running', format: 2, ...over });

function stage(rows: readonly Row[], on: Partial<Table> = {}) {
  const memory = createMemoryTable();
  for (const each of rows) memory.put(each);
  const tried: RowWrite[] = [];
  const batches: number[] = [];
  const store = createJobStore({
    table: {
      ...memory,
      apply: (write) => {
        tried.push(write);
        return (on.apply ?? memory.apply)(write);
      },
      applyMany: (many) => {
        tried.push(...many);
        batches.push(many.length);
        return (on.applyMany ?? memory.applyMany)(many);
      },
    },
    ...{ clock: createHandClock(), chance: createHandChance(), settings, actor: 'reaper' },
  });
  return { memory, store, tried, batches };
}

/** What a lapse comes to, reaped alone and among others, and how many writes that took. */
async function reaped(stored: Row | undefined, action: ReapAction) {
  const rows = stored === undefined ? [] : [stored];
  const alone = stage(rows);
  const outcome = await alone.store.reap(entry, action);
  const among = stage(rows);
  expect(await among.store.reapMany([{ entry, action }])).toEqual([outcome]);
  expect(among.tried.map(({ when }) => when)).toEqual(alone.tried.map(({ when }) => when));
  const after = await alone.memory.read('j1');
  expect(await among.memory.read('j1')).toMatchObject({ ...after, changedBy: expect.any(String) });
  return { outcome, tries: alone.tried.length, after };
}

describe('a reaper’s verdict', () => {
  it.each([
    ['of today', lapsed(), 1],
    ['of version 0.1, which says no format, with a second try', lapsed({ format: undefined }), 2],
  ])('is carried out on a row %s', async (_, stored, tries) => {
    expect(await reaped(stored, charged)).toMatchObject({
      ...{ outcome: { outcome: 'written' }, tries, after: { status: 'pending', crashes: 1 } },
    });
  });

  it.each([
    ['another status', { status: 'done' }],
    ['a later attempt', { attempt: 2 }],
    ['a later end of its lease', { leaseUntil: 100_001 }],
    ['another number of crashes', { crashes: 1 }],
  ])('is given up on a row with %s', async (_, over) => {
    for (const action of [charged, excused])
      expect(await reaped(lapsed(over), action)).toMatchObject({ outcome: { outcome: 'moved' }, tries: 1 });
  });

  it('is given up on a row that is gone', async () => {
    const { store } = stage([], { apply: async () => ({ applied: false, row: undefined }) });
    expect(await store.reap(entry, charged)).toStrictEqual({ outcome: 'moved' });
  });

  it('is not carried out on a row of a newer version, which is told', async () => {
    expect(await reaped(lapsed({ format: 3 }), charged)).toMatchObject({
      ...{ outcome: { outcome: 'newer', error: { code: 'NEWER_FORMAT' } }, tries: 1 },
    });
  });

  it('is known as carried out after a lost reply, also where the row says no format', async () => {
    const memory = createMemoryTable();
    memory.put(lapsed({ format: undefined }));
    const twice = async (write: RowWrite) => {
      await memory.apply(write);
      return memory.apply(write);
    };
    expect(await stage([], { apply: twice }).store.reap(entry, charged)).toEqual({ outcome: 'written' });
  });

  it('that ends the job keeps its row for as long as rows are kept', async () => {
    const { after } = await reaped(lapsed({ cancelRequested: true }), { kind: 'cancel' });
    expect(after).toMatchObject({
      status: 'cancelled',
      expiresAt: Math.ceil((createHandClock().now() + settings.rowRetentionMs) / 1000),
    });
  });
});

describe('an excuse', () => {
  it.each([
    ['never', undefined, 1, { excuses: 1, crashes: 0, releases: 1 }],
    ['once', 1, 2, { excuses: 2, crashes: 0, releases: 1 }],
  ])('is accepted from a job that was excused %s', async (_, excuses, tries, after) => {
    expect(await reaped(lapsed({ excuses }), excused)).toMatchObject({
      outcome: { outcome: 'written' },
      tries,
      after,
    });
  });

  it('is not accepted a third time: the lapse is charged, and told as that', async () => {
    const { outcome, tries, after } = await reaped(lapsed({ excuses: 2 }), excused);
    expect([outcome, tries]).toEqual([{ outcome: 'written', action: charged }, 2]);
    expect(after).toMatchObject({ status: 'pending', crashes: 1, releases: 0 });
  });

  it.each([1, 2])('is judged as well where the row says no format, and %i excuses', async (excuses) => {
    const { outcome, tries, after } = await reaped(lapsed({ format: undefined, excuses }), excused);
    expect(outcome).toMatchObject({ outcome: 'written' });
    expect([tries, after?.crashes]).toEqual([4, excuses === 2 ? 1 : 0]);
  });

  it.each([
    ['another status', { status: 'failed' }],
    ['a later attempt', { attempt: 2 }],
    ['a later end of its lease', { leaseUntil: 100_001 }],
  ])('is not tried again on a row with %s', async (_, over) => {
    expect(await reaped(lapsed({ excuses: 1, ...over }), excused)).toMatchObject({
      ...{ outcome: { outcome: 'moved' }, tries: 1 },
    });
  });

  it('is tried once more, not for ever', async () => {
    const refusal = lapsed({ excuses: 1 });
    const { store, tried } = stage([], { apply: async () => ({ applied: false, row: refusal }) });
    expect(await store.reap(entry, excused)).toEqual({ outcome: 'moved' });
    expect(tried).toHaveLength(2);
  });
});

describe('many verdicts', () => {
  it('are carried out together, those that take another try as well, in the order given', async () => {
    const rows = [
      lapsed({ jobId: 'a' }),
      lapsed({ jobId: 'b', format: undefined }),
      lapsed({ jobId: 'c', attempt: 2 }),
    ];
    const { store, batches } = stage(rows);
    const verdicts = ['a', 'b', 'c', 'd'].map((jobId) => ({ entry: leaseEntry({ jobId }), action: charged }));
    expect(await store.reapMany(verdicts)).toEqual(
      ['written', 'written', 'moved', 'moved'].map((outcome) => ({ outcome })),
    );
    expect(batches).toEqual([4, 1]);
  });

  it('fail one by one', async () => {
    const error = new Error('no reply');
    const { store } = stage([], { applyMany: async () => [{ applied: 'failed', error }] });
    expect(await store.reapMany([{ entry, action: charged }])).toEqual([{ outcome: 'failed', error }]);
  });

  it('may be none, which costs no request', async () => {
    const { store, batches } = stage([]);
    expect([await store.reapMany([]), batches]).toEqual([[], []]);
  });
});
