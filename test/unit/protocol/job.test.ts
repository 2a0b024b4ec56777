import { describe, expect, it } from 'vitest';
import {
  claimOf,
  isFinished,
  leaseEntryOf,
  type RunningJob,
  type UnfinishedJob,
} from '../../../lib/protocol/job.ts';
import { parseJob, parseLeaseEntry } from '../../../lib/protocol/rows/parse-row.ts';
import { row } from '../../support/rows.ts';

const over = { attempt: 2, errors: 3, crashes: 4, releases: 5, cancelRequested: true };

describe('a job', () => {
  it.each([
    ['pending', row({ ...over, notBefore: 7, dispatches: 8, startedAt: undefined })],
    ['pending and was never claimed', row({ leaseOwner: undefined, startedAt: undefined })],
    ['running', row({ ...over, status: 'running', notBefore: undefined, dispatches: undefined })],
  ])('that is %s is in the index as its row says', (_, stored) => {
    expect(leaseEntryOf(parseJob(stored) as UnfinishedJob)).toStrictEqual(parseLeaseEntry(stored));
  });

  it('that runs has forgotten when it was due, and how often it was hinted at', () => {
    const running = parseJob(row({ status: 'running', notBefore: 7, dispatches: 8 })) as UnfinishedJob;
    expect(leaseEntryOf(running)).toMatchObject({ notBefore: 0, dispatches: 0, startedAt: 60_000 });
  });

  it('that waits after a claim does not tell when that began', () => {
    expect(leaseEntryOf(parseJob(row()) as UnfinishedJob)).not.toHaveProperty('startedAt');
  });

  it.each([
    ['pending', false],
    ['running', false],
    ['done', true],
    ['failed', true],
    ['cancelled', true],
  ])('that is %s is finished: %s', (status, expected) => {
    expect(isFinished(parseJob(row({ status })))).toBe(expected);
  });

  it('that runs names its claim', () => {
    const found = {
      ...{ bytes: 500, checkpointBytes: 0, progressBytes: 0 },
      ...{ crashes: 0, releases: 0, excuses: 0, expiresSoon: false },
    };
    const job = { ...(parseJob(row({ status: 'running', attempt: 2 })) as RunningJob), found };
    expect(claimOf(job)).toStrictEqual({ jobId: 'j1', owner: 'w/1', attempt: 2, startedAt: 60_000, found });
  });
});
