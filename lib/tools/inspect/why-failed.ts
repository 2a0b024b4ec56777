import type { FailedJob, Job } from '../../protocol/job.ts';
import { times } from './counted.ts';
import { remedyFor } from './last-ending.ts';
import { isQuarantined, lostTooOften } from './timeline.ts';

export type FailureKind = 'rejected' | 'quarantined' | 'nonRetryable' | 'attemptsUsedUp' | 'other';

export interface WhyFailed {
  readonly kind: FailureKind;
  readonly message: string;
  readonly advice: string;
}

const NON_RETRYABLE = /^NonRetryableError\b/;
/** Failures without a handler error: too many releases, or `doctor`. */
const NO_ERROR = /^(released \d+ times|failed by doctor)/;

/** The row does not store the limit that was met; its counts and budgets show it. */
export function failureKind(job: FailedJob): FailureKind {
  const { lastError = '' } = job;
  if (job.rawMessage !== undefined) return 'rejected';
  if (isQuarantined(job)) return 'quarantined';
  // A non-retryable error on the last attempt still counts as the reason.
  if (NON_RETRYABLE.test(lastError)) return 'nonRetryable';
  if (job.errors + job.crashes >= job.maxAttempts) return 'attemptsUsedUp';
  // An error that ended the job with attempts left was non-retryable.
  return job.errors > 0 && !NO_ERROR.test(lastError) ? 'nonRetryable' : 'other';
}

export function whyFailed(job: Job): WhyFailed | undefined {
  if (job.status !== 'failed') return undefined;
  const kind = failureKind(job);
  switch (kind) {
    case 'rejected':
      return {
        kind,
        message: 'Rejected: the message cannot be run',
        advice: 'Have its producer send a valid message. This one cannot be revived.',
      };
    case 'quarantined':
      return {
        kind,
        message: lostTooOften(job)
          ? `Quarantined: its host was lost ${times(job.lapses)} (maxLapses, maxAttempts)`
          : `Quarantined: it crashed ${times(job.crashes)}, and ${job.maxCrashes} is the limit (maxCrashes)`,
        advice: `${remedyFor(job)}, then revive it.`,
      };
    case 'nonRetryable':
      return {
        kind,
        message: 'Not retried: its handler threw a NonRetryableError or the like',
        advice: 'Another attempt gives the same error. Fix its cause or the data first, then revive it.',
      };
    case 'attemptsUsedUp':
      return {
        kind,
        message: `Attempts used up: ${job.errors + job.crashes} of ${job.maxAttempts} ended by errors or crashes (maxAttempts)`,
        advice: `${remedyFor(job)}, then revive it: it gets new attempts.`,
      };
    case 'other':
      return {
        kind,
        message: 'Failed before its attempts were used up',
        advice: 'The error says which limit it met. Fix that, then revive it.',
      };
  }
}
