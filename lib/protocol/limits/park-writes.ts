import type { Dispatch } from '../decisions/dispatch.ts';
import type { Claim } from '../job.ts';
import { attemptIs, formatIsKnown, leaseEndsAt, statusIs } from '../writes/clauses.ts';
import type { RowWrite } from '../writes/row-write.ts';
import { byHolder, claimEnded, pendingAttributes, type WriteContext } from '../writes/worker-writes.ts';

export interface Parking {
  readonly waitsFor: string;
  readonly dispatch: Dispatch;
}

export interface SeenPending {
  readonly jobId: string;
  readonly attempt: number;
  readonly leaseUntil: number;
  /** A job that waited already keeps its place in line. */
  readonly waitsSince?: number;
}

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
