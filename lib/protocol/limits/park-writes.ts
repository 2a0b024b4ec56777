import type { Dispatch } from '../decisions/dispatch.ts';
import type { Claim, PendingJob } from '../job.ts';
import { attemptIs, formatIsKnown, leaseEndsAt, statusIs } from '../writes/clauses.ts';
import type { RowWrite } from '../writes/row-write.ts';
import { byHolder, claimEnded, pendingAttributes, type WriteContext } from '../writes/worker-writes.ts';

export interface Parking {
  readonly waitsFor: string;
  readonly dispatch: Dispatch;
}

type SeenPending = Pick<PendingJob, 'jobId' | 'attempt' | 'leaseUntil' | 'waitsSince'>;

const parkedAttributes = (
  jobId: string,
  { waitsFor, dispatch }: Parking,
  { now, shards, changedBy }: WriteContext,
  since = now,
) => ({
  ...pendingAttributes(jobId, dispatch, shards),
  waitsFor,
  waitsSince: since,
  changedBy,
});

/** A job that waited already keeps its place in line. */
export const parkWrite = (seen: SeenPending, parking: Parking, at: WriteContext): RowWrite => ({
  transition: 'park',
  jobId: seen.jobId,
  when: [[statusIs('pending'), attemptIs(seen.attempt), leaseEndsAt(seen.leaseUntil), formatIsKnown]],
  set: parkedAttributes(seen.jobId, parking, at, seen.waitsSince),
  returns: 'nothing',
});

/** Spends no budget: the job did not run. */
export const parkClaimWrite = (claim: Claim, parking: Parking, at: WriteContext): RowWrite =>
  byHolder(
    'parkClaim',
    claim,
    {
      set: {
        ...parkedAttributes(claim.jobId, parking, at),
        ...claimEnded(claim, at.now, 'parked'),
      },
    },
    at,
  );
