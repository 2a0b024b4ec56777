import { describe, expect, it } from 'vitest';
import { parseJob } from '../../../lib/protocol/rows/parse-row.ts';
import { lastEnding } from '../../../lib/tools/inspect/last-ending.ts';
import { whyFailed } from '../../../lib/tools/inspect/why-failed.ts';
import { finishedRow, row } from '../../support/rows.ts';

const claim = (attempt: number, outcome: string, cause?: string) => ({
  [`claim0${attempt}`]: {
    ...{ attempt, owner: `w/${attempt}`, from: attempt * 1_000, to: attempt * 1_000 + 500, outcome, cause },
  },
});
const pending = (over: Readonly<Record<string, unknown>>) => parseJob(row(over));

describe('how the last attempt ended', () => {
  it('is taken from that attempt, although the row still has the error of an earlier one', () => {
    const job = pending({
      ...{ attempt: 2, lapses: 1, releases: 1, lastError: 'worker lease expired' },
      ...claim(1, 'lapsed', 'worker lease expired'),
      ...claim(2, 'released'),
    });
    expect(lastEnding(job)).toEqual({
      attempt: 2,
      message: 'released at a deadline or shutdown, not charged',
      errorOf: 1,
    });
  });
});

describe('what to do about a failure', () => {
  const advice = (lastError: string, over: Readonly<Record<string, unknown>> = {}) =>
    whyFailed(
      parseJob(finishedRow('a', 'failed', { maxAttempts: 2, errors: 1, crashes: 1, lastError, ...over })),
    )?.advice;

  it.each([
    ['crashed: out of memory (heap)', /memory/],
    ['crashed: killed: a handler blocked the event loop for longer than maxStallMs', /maxStallMs/],
    ['crashed: killed: a handler did not stop within killAfterMs of its signal', /signal/],
    ['crashed: unhandled rejection: Error: no', /await/i],
    ['crashed: a handler, or what it called, ended the process with exit code 3', /exit call/],
    ['worker lease expired', /hosts/],
    ['ran out of invocation time without storing a new checkpoint', /checkpoint/],
    ['Error: no such mailbox', /what the error names/],
  ])('follows from the end of the last attempt: %s', (lastError, wanted) => {
    expect(advice(lastError)).toMatch(wanted);
  });
});
