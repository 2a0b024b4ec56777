import { describe, expect, it } from 'vitest';
import { parseJob } from '../../../lib/protocol/rows/parse-row.ts';
import { whyFailed } from '../../../lib/tools/inspect/why-failed.ts';
import { finishedRow } from '../../support/rows.ts';

const of = (over: Readonly<Record<string, unknown>>) =>
  whyFailed(parseJob(finishedRow('a', 'failed', { maxAttempts: 3, maxCrashes: 2, ...over })));

describe('why a job failed', () => {
  it.each([
    ['attemptsUsedUp', { errors: 3, lastError: 'Error: no' }],
    ['attemptsUsedUp', { errors: 2, crashes: 1, lastError: 'worker lease expired' }],
    ['quarantined', { crashes: 2, lastError: 'crashed: out of memory (heap)' }],
    ['quarantined', { crashes: 2, errors: 1, lastError: 'worker lease expired' }],
    ['nonRetryable', { errors: 1, lastError: 'NonRetryableError: no such customer' }],
    // In the last attempt both are true; the error is what ended it.
    ['nonRetryable', { errors: 3, lastError: 'NonRetryableError: no such customer' }],
    // One of the user's own, with the same code.
    ['nonRetryable', { errors: 1, lastError: 'NoSuchCustomerError: 17' }],
    [
      'other',
      { errors: 1, releases: 101, lastError: 'released 101 times without finishing; make each run do more' },
    ],
    ['other', { errors: 1, lastError: 'failed by doctor: attempt is not a number' }],
    ['other', { lastError: 'its data is gone' }],
  ])('is told as %s by its counts: %o', (kind, over) => {
    expect(of(over)).toMatchObject({
      kind,
      message: expect.stringMatching(/^[A-Z]/),
      advice: expect.stringMatching(/\.$/),
    });
  });

  it('is shown for rejected messages, which cannot be revived', () => {
    expect(of({ rawText: '{', rawBytes: 1, rawSha256: 'x', lastError: 'not JSON' })).toMatchObject({
      kind: 'rejected',
    });
  });
});
