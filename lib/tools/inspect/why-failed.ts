import type { Job } from '../../protocol/job.ts';
import { times } from './counted.ts';
import { isQuarantined } from './timeline.ts';

/** Which limit a failed job met. */
export type FailureKind = 'rejected' | 'quarantined' | 'nonRetryable' | 'attemptsUsedUp' | 'other';

/** Why a job failed for good, and what an operator does about it. */
export interface WhyFailed {
  readonly kind: FailureKind;
  readonly says: string;
  readonly advice: string;
}

const NON_RETRYABLE = /^NonRetryableError\b/;
/** Of a failure that no handler's error brought about: released too often, or failed by `doctor`. */
const NO_ERROR = /^(released \d+ times|failed by doctor)/;

/** Which limit it was. The row does not say so itself: its counts and budgets do. */
export function failureKind(job: Job): FailureKind {
  const { lastError = '' } = job;
  if ('rawMessage' in job && job.rawMessage !== undefined) return 'rejected';
  if (isQuarantined(job)) return 'quarantined';
  // Thrown in the last attempt it is still what ended the job.
  if (NON_RETRYABLE.test(lastError)) return 'nonRetryable';
  if (job.errors + job.crashes >= job.maxAttempts) return 'attemptsUsedUp';
  // An error that ended it before its attempts were used up said that another one cannot help.
  return job.errors > 0 && !NO_ERROR.test(lastError) ? 'nonRetryable' : 'other';
}

/** Undefined for a job that has not failed. */
export function whyFailed(job: Job): WhyFailed | undefined {
  if (job.status !== 'failed') return undefined;
  const kind = failureKind(job);
  switch (kind) {
    case 'rejected':
      return {
        kind,
        says: 'Rejected: the message cannot be run',
        advice: 'Have its producer send a valid message. This one cannot be revived.',
      };
    case 'quarantined':
      return {
        kind,
        says: `Quarantined: it crashed ${times(job.crashes)}, and ${job.maxCrashes} is the limit (maxCrashes)`,
        advice: 'Look at what each attempt died of, mend that, deploy, then revive it.',
      };
    case 'nonRetryable':
      return {
        kind,
        says: 'Not retried: its handler threw a NonRetryableError, or one of its kind',
        advice: 'Another attempt gives the same error. Mend its cause or the data first, then revive it.',
      };
    case 'attemptsUsedUp':
      return {
        kind,
        says: `Attempts used up: ${job.errors + job.crashes} of ${job.maxAttempts} ended by errors or crashes (maxAttempts)`,
        advice: 'Mend what the error names, then revive it: it gets new attempts.',
      };
    case 'other':
      return {
        kind,
        says: 'Failed before its attempts were used up',
        advice: 'The error says which limit it met. Mend that, then revive it.',
      };
  }
}
