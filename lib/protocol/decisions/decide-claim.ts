import type { MissingDataError, NewerFormatError } from '../errors.ts';
import type { Job, PendingJob, RunningJob } from '../job.ts';

type ClaimRefusal =
  | { readonly outcome: 'absent' }
  | { readonly outcome: 'finished'; readonly job: Job }
  | { readonly outcome: 'cancelled'; readonly job: Job }
  | { readonly outcome: 'held'; readonly job: RunningJob }
  | { readonly outcome: 'notYet'; readonly job: Job; readonly notBefore: number }
  /** Pending; the caller carries out the cancellation. */
  | { readonly outcome: 'cancelRequested'; readonly job: PendingJob }
  /** The row changed between the write and the read; its next hint will retry. */
  | { readonly outcome: 'contended'; readonly job: Job }
  | { readonly outcome: 'withoutData'; readonly job: RunningJob; readonly error: MissingDataError }
  | { readonly outcome: 'newer'; readonly error: NewerFormatError };

export type ClaimOutcome = { readonly outcome: 'claimed'; readonly job: RunningJob } | ClaimRefusal;

/** A lease that is already mine means a lost reply. */
export function decideClaim(
  job: Job | undefined,
  mine: { readonly owner: string; readonly now: number; readonly skewMs: number },
): ClaimOutcome {
  if (job === undefined) return { outcome: 'absent' };
  switch (job.status) {
    case 'running':
      return job.leaseOwner === mine.owner ? { outcome: 'claimed', job } : { outcome: 'held', job };
    case 'done':
    case 'failed':
      return { outcome: 'finished', job };
    case 'cancelled':
      return { outcome: 'cancelled', job };
    case 'pending':
      if (job.cancelRequested) return { outcome: 'cancelRequested', job };
      if (job.notBefore > mine.now + mine.skewMs) return { outcome: 'notYet', job, notBefore: job.notBefore };
      return { outcome: 'contended', job };
  }
}
