import { describe, expect, it } from 'vitest';
import { parseJob } from '../../../lib/protocol/rows/parse-row.ts';
import { rowAfter } from '../../../lib/protocol/writes/evaluate.ts';
import { placeInIndexWrite, repairByFailingWrite } from '../../../lib/protocol/writes/repair-writes.ts';
import type { Row, RowWrite } from '../../../lib/protocol/writes/row-write.ts';
import { row } from '../../support/rows.ts';

const now = 200_000;
const at = { changedBy: 'doctor/c9', now, shards: 8, expiresAt: 999 };
const pointer = { in: 'p1', parts: 1, bytes: 5_000 };
const is = (attribute: string, value: string | number | boolean) =>
  ({ attribute, is: 'equal', value }) as const;
const asScanned = [
  is('status', 'pending'),
  is('attempt', 1),
  is('leaseUntil', 100_000),
  is('changedBy', 'w/c1'),
];

describe('what the doctor writes', () => {
  it('for a rejected message puts it in the place of the id that it named', () => {
    const bad = row({ jobId: 'bad:a', status: 'failed' });
    expect(placeInIndexWrite(bad, at)).toMatchObject({ jobId: 'bad:a', set: { leaseShard: 'f4' } });
    expect(failing(bad)).toMatchObject({ jobId: 'bad:a', set: { leaseShard: 'f4' } });
  });
});

const defaults = { maxAttempts: 5, maxCrashes: 3, leaseMs: 30_000 };
const failing = (bad: Row): RowWrite => repairByFailingWrite(bad, 'its type is missing', defaults, at);

describe('a row that the doctor fails', () => {
  it('keeps what can be read of it', () => {
    const counts = { lapses: 0, attempt: 3, errors: 1, crashes: 2, releases: 4, checkpointSeq: 6 };
    const terms = { maxAttempts: 9, maxCrashes: 8, leaseMs: 7_000 };
    const bad = row({ jobId: 'a', ...counts, ...terms, status: 'paused', cancelRequested: true });
    expect(failing(bad)).toStrictEqual({
      transition: 'repairByFailing',
      jobId: 'a',
      when: [[is('status', 'paused'), is('attempt', 3), ...asScanned.slice(2)]],
      set: {
        status: 'failed',
        ...{ type: 'report', payload: '{"n":1}', lastError: 'failed by doctor: its type is missing' },
        ...counts,
        ...terms,
        ...{ createdAt: 50_000, format: 1 },
        ...{ leaseShard: 'f4', leaseUntil: now, finishedAt: now, expiresAt: 999 },
        cancelRequested: false,
        changedBy: 'doctor/c9',
      },
      remove: [],
      returns: 'nothing',
    });
  });

  it('gets defaults for missing attributes and wrong types', () => {
    const wrong = {
      ...{ type: 7, payload: { n: 1 }, attempt: '1', errors: undefined, crashes: Number.NaN, releases: [] },
      ...{ checkpointSeq: Number.POSITIVE_INFINITY, maxAttempts: '9', maxCrashes: undefined },
      ...{ leaseMs: '7000', createdAt: 'yesterday' },
    };
    expect(failing(row({ jobId: 'a', ...wrong })).set).toMatchObject({
      ...{
        type: 'leasehold.unreadable',
        payload: 'null',
        attempt: 0,
        errors: 0,
        crashes: 0,
        lapses: 0,
        releases: 0,
      },
      ...{ checkpointSeq: 0, maxAttempts: 5, maxCrashes: 3, leaseMs: 30_000, createdAt: now },
    });
  });

  it('still points to a payload that is kept elsewhere', () => {
    expect(failing(row({ jobId: 'a', payload: pointer })).set).toMatchObject({ payload: pointer });
  });

  it.each([
    ['a checkpoint that is no JSON', { checkpoint: '{' }],
    ['progress that is no JSON', { progress: '{' }],
    ['a checkpoint that is no text', { checkpoint: 7 }],
    ['progress that is no text', { progress: { done: 1 } }],
    ['an owner that is no text', { leaseOwner: 7 }],
    ['a start that is no number', { startedAt: '60000' }],
    ['a rejected text that is none', { rawText: 7 }],
  ])('loses %s, and can be read', (_, over) => {
    const bad = row({ jobId: 'a', ...over });
    const write = failing(bad);
    expect(write.remove).toEqual(Object.keys(over));
    expect(parseJob(rowAfter(write, bad))).toMatchObject({ status: 'failed' });
  });

  it.each([
    ['a checkpoint and progress', { checkpoint: '{"page":2}', progress: '0.5' }],
    [
      'an owner, a start and a rejected text that is no JSON',
      { leaseOwner: 'w/1', startedAt: 1, rawText: '{' },
    ],
    ['what is kept elsewhere', { checkpoint: pointer, progress: pointer }],
  ])('keeps %s', (_, over) => {
    expect(failing(row({ jobId: 'a', ...over })).remove).toEqual([]);
  });
});
