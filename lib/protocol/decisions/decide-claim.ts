import type { MissingDataError, NewerFormatError } from '../errors.ts';
import type { Job, PendingJob, RunningJob } from '../job.ts';

type ClaimRefusal =
  | { readonly outcome: 'absent' }
  | { readonly outcome: 'finished'; readonly job: Job }
  | { readonly outcome: 'cancelled'; readonly job: Job }
  /** Another claim has the lease, live or lapsed: only the reaper reclaims. */
  | { readonly outcome: 'held'; readonly job: RunningJob }
  | { readonly outcome: 'notYet'; readonly job: Job; readonly notBefore: number }
  /** Pending with a cancellation request, which the caller carries out. */
  | { readonly outcome: 'cancelRequested'; readonly job: PendingJob }
  /** The row changed between the write and the read; its next hint will retry. */
  | { readonly outcome: 'contended'; readonly job: Job }
  /** Granted, then failed for good because its payload or checkpoint is gone. */
  | { readonly outcome: 'withoutData'; readonly job: RunningJob; readonly error: MissingDataError }
  /** A newer version wrote the row. */
  | { readonly outcome: 'newer'; readonly error: NewerFormatError };

export type ClaimOutcome = { readonly outcome: 'claimed'; readonly job: RunningJob } | ClaimRefusal;

/** Explains a refused claim from the current row; a lease that is already mine means a lost reply. */
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
