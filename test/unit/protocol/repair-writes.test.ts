import { describe, expect, it } from 'vitest';
import { parseJob } from '../../../lib/protocol/rows/parse-row.ts';
import { rowAfter } from '../../../lib/protocol/writes/evaluate.ts';
import { repairByFailingWrite } from '../../../lib/protocol/writes/repair-writes.ts';
import type { Row, RowWrite } from '../../../lib/protocol/writes/row-write.ts';
import { row } from '../../support/rows.ts';

const now = 200_000;
const at = { changedBy: 'doctor/c9', now, shards: 8, expiresAt: 999 };
const is = (attribute: string, value: string | number | boolean) =>
  ({ attribute, is: 'equal', value }) as const;
const asScanned = [
  is('status', 'pending'),
  is('attempt', 1),
  is('leaseUntil', 100_000),
  is('changedBy', 'w/c1'),
];

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
});
