import type { MissingDataError, NewerFormatError } from '../errors.ts';
import type { Job, RunningJob } from '../job.ts';

/** Why a claim was refused. All but `cancelRequested` are acknowledged as they are: the row is safe. */
type ClaimRefusal =
  /** A hint for a row that is not there (any more). */
  | { readonly outcome: 'absent' }
  | { readonly outcome: 'finished'; readonly job: Job }
  | { readonly outcome: 'cancelled'; readonly job: Job }
  /** Another claim has the lease, live or lapsed: only the reaper reclaims. */
  | { readonly outcome: 'held'; readonly job: RunningJob }
  | { readonly outcome: 'notYet'; readonly job: Job; readonly notBefore: number }
  /** Pending, but an operator wants it ended: whoever meets it does so. */
  | { readonly outcome: 'cancelRequested'; readonly job: Job }
  /** Pending and due as it looks now: it changed between the write and the look. Its own next hint will do. */
  | { readonly outcome: 'contended'; readonly job: Job }
  /** Granted, but its payload or checkpoint is gone, so that it was failed for good. */
  | { readonly outcome: 'withoutData'; readonly job: RunningJob; readonly error: MissingDataError }
  /** A newer version wrote the row: it is left alone. */
  | { readonly outcome: 'newer'; readonly error: NewerFormatError };

export type ClaimOutcome = { readonly outcome: 'claimed'; readonly job: RunningJob } | ClaimRefusal;

/** Reads the outcome of a refused claim off the row as it is. A lost reply shows as a lease that is already mine. */
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
