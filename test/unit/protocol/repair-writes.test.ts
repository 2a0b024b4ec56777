import { describe, expect, it } from 'vitest';
import { parseJob } from '../../../lib/protocol/rows/parse-row.ts';
import { rowAfter } from '../../../lib/protocol/writes/evaluate.ts';
import {
  oldFailuresListedWrite,
  repairAttributesWrite,
  repairByFailingWrite,
  repairHintWrite,
  repairIndexWrite,
  repairToPendingWrite,
} from '../../../lib/protocol/writes/repair-writes.ts';
import type { Row, RowWrite } from '../../../lib/protocol/writes/row-write.ts';
import { row } from '../../support/rows.ts';

const now = 200_000;
const at = { changedBy: 'doctor/c9', now, shards: 8 };
const dispatch = { notBefore: 201_000, leaseUntil: 261_000, dispatches: 7, hintDelaySeconds: 1 };
const pointer = { in: 'p1', parts: 1, bytes: 5_000, until: 900 };
const is = (attribute: string, value: string | number | boolean) =>
  ({ attribute, is: 'equal', value }) as const;
const absent = (attribute: string) => ({ attribute, is: 'absent' }) as const;
const present = (attribute: string) => ({ attribute, is: 'present' }) as const;
const scanned = row({ jobId: 'a' });
const asScanned = [
  is('status', 'pending'),
  is('attempt', 1),
  is('leaseUntil', 100_000),
  is('changedBy', 'w/c1'),
];

/** As the doctor writes: what is listed here is all that changes, and when. */
const repairs: readonly (readonly [string, () => RowWrite, RowWrite])[] = [
  [
    'a row that no sweep could find',
    () => repairToPendingWrite(scanned, dispatch, at),
    {
      transition: 'repairToPending',
      jobId: 'a',
      when: [[...asScanned, is('leaseShard', 'q0'), is('leaseOwner', 'w/1')]],
      set: {
        ...{ status: 'pending', leaseShard: 'q4', notBefore: 201_000, leaseUntil: 261_000, dispatches: 7 },
        changedBy: 'doctor/c9',
      },
      returns: 'nothing',
    },
  ],
  [
    'a hint that is too far away',
    () => repairHintWrite(row({ jobId: 'a', notBefore: 5 }), dispatch, at),
    {
      transition: 'repairHint',
      jobId: 'a',
      when: [[...asScanned, is('notBefore', 5)]],
      set: { leaseUntil: 261_000, dispatches: 7, changedBy: 'doctor/c9' },
      returns: 'nothing',
    },
  ],
  [
    'a failed row outside its place in the index',
    () => repairIndexWrite(row({ jobId: 'a', status: 'failed' }), at),
    {
      transition: 'repairIndex',
      jobId: 'a',
      when: [
        [is('status', 'failed'), ...asScanned.slice(1), is('leaseShard', 'q0'), is('finishedAt', 70_000)],
      ],
      set: { leaseShard: 'f4', leaseUntil: 70_000, changedBy: 'doctor/c9' },
      remove: ['failedAt'],
      returns: 'nothing',
    },
  ],
  [
    'another finished row that is in the index',
    () => repairIndexWrite(row({ jobId: 'a', status: 'done' }), at),
    {
      transition: 'repairIndex',
      jobId: 'a',
      when: [[is('status', 'done'), ...asScanned.slice(1), is('leaseShard', 'q0'), is('finishedAt', 70_000)]],
      set: { changedBy: 'doctor/c9' },
      remove: ['leaseUntil'],
      returns: 'nothing',
    },
  ],
  [
    'attributes, each of which must be as the scan saw it',
    () =>
      repairAttributesWrite(
        row({ jobId: 'a', maxCrashes: undefined, maxAttempts: ['5'], cancelRequested: true }),
        { maxCrashes: 3, maxAttempts: 5, cancelRequested: 'no', status: 'pending' },
        at,
      ),
    {
      transition: 'repairAttributes',
      jobId: 'a',
      // Each is named once, though the status is judged in any case; what a condition cannot compare must be there.
      when: [[...asScanned, absent('maxCrashes'), present('maxAttempts'), is('cancelRequested', true)]],
      set: {
        ...{ maxCrashes: 3, maxAttempts: 5, cancelRequested: 'no', status: 'pending' },
        changedBy: 'doctor/c9',
      },
      returns: 'nothing',
    },
  ],
  [
    'the end of version 0.1’s list of failures',
    () => oldFailuresListedWrite({ jobId: 'leader:reaper', epoch: 4 }),
    {
      transition: 'oldFailuresListed',
      jobId: 'leader:reaper',
      when: [[is('epoch', 4)]],
      set: { oldFailures: 'listed' },
      remove: ['epoch'],
      returns: 'nothing',
    },
  ],
];

describe('what the doctor writes', () => {
  it.each(repairs)('for %s', (_, write, expected) => {
    expect(write()).toStrictEqual(expected);
  });

  it('for a rejected message puts it in the place of the id that it named', () => {
    const bad = row({ jobId: 'bad:a', status: 'failed' });
    expect(repairIndexWrite(bad, at)).toMatchObject({ jobId: 'bad:a', set: { leaseShard: 'f4' } });
    expect(failing(bad)).toMatchObject({ jobId: 'bad:a', set: { leaseShard: 'f4' } });
  });
});

const defaults = { maxAttempts: 5, maxCrashes: 3, leaseMs: 30_000, expiresAt: 999 };
const failing = (bad: Row): RowWrite => repairByFailingWrite(bad, 'its type is missing', defaults, at);

describe('a row that the doctor fails', () => {
  it('keeps what can be read of it', () => {
    const counts = { attempt: 3, errors: 1, crashes: 2, releases: 4, checkpointSeq: 6 };
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
        createdAt: 50_000,
        ...{ leaseShard: 'f4', leaseUntil: now, finishedAt: now, expiresAt: 999 },
        cancelRequested: false,
        changedBy: 'doctor/c9',
      },
      remove: [],
      returns: 'nothing',
    });
  });

  it('gets defaults for what is missing or of the wrong type', () => {
    const wrong = {
      ...{ type: 7, payload: { n: 1 }, attempt: '1', errors: undefined, crashes: Number.NaN, releases: [] },
      ...{ checkpointSeq: Number.POSITIVE_INFINITY, maxAttempts: '9', maxCrashes: undefined },
      ...{ leaseMs: '7000', createdAt: 'yesterday' },
    };
    expect(failing(row({ jobId: 'a', ...wrong })).set).toMatchObject({
      ...{ type: 'leasehold.unreadable', payload: 'null', attempt: 0, errors: 0, crashes: 0, releases: 0 },
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
