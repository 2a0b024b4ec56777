import { ROW_FORMAT } from '../../wire/table.ts';
import type { Claim, JobStatus, LeaseEntry } from '../job.ts';
import type { Clause } from './row-write.ts';

export const equal = (attribute: string, value: string | number | boolean): Clause => ({
  attribute,
  is: 'equal',
  value,
});
export const below = (attribute: string, value: number): Clause => ({ attribute, is: 'below', value });
export const atMost = (attribute: string, value: number): Clause => ({ attribute, is: 'atMost', value });
export const absent = (attribute: string): Clause => ({ attribute, is: 'absent' });

export const rowIsAbsent: Clause = absent('jobId');

export const statusIs = (status: JobStatus): Clause => equal('status', status);

/** A later message of another type changes nothing, or it would run the job in the wrong pool or despite a pause. */
export const typeIs = (type: string): Clause => equal('type', type);

export const attemptIs = (attempt: number): Clause => equal('attempt', attempt);

/** Due, by a clock that may be off by the allowed skew. */
export const isDue = (now: number, skewMs: number): Clause => atMost('notBefore', now + skewMs);

export const isNotToBeCancelled: Clause = { attribute: 'cancelRequested', is: 'differs', value: true };

export const cancelIsRequested: Clause = equal('cancelRequested', true);

/** PartiQL cannot express `isNotToBeCancelled`. Refuses a row without the attribute. */
export const cancelIsNotRequested: Clause = equal('cancelRequested', false);

/** A retry after a lost reply must not claim a job that has returned to the queue since. */
export const wasNeverMine = (owner: string): Clause => ({
  attribute: 'leaseOwner',
  is: 'differs',
  value: owner,
});

/** A late repeat of a claim has the same owner, but another attempt. */
export const leaseIsMine = (claim: Claim): readonly Clause[] => [
  statusIs('running'),
  equal('leaseOwner', claim.owner),
  attemptIs(claim.attempt),
];

/** After a lost reply the attempt is unknown, but the owner is unique to the claim. */
export const leaseIsOwnedBy = (owner: string): readonly Clause[] => [
  statusIs('running'),
  equal('leaseOwner', owner),
];

export const leaseEndsBefore = (leaseUntil: number): Clause => below('leaseUntil', leaseUntil);

export const leaseEndsAt = (leaseUntil: number): Clause => equal('leaseUntil', leaseUntil);

export const finishedAtIs = (finishedAt: number): Clause => equal('finishedAt', finishedAt);

export const formatIsKnown: Clause = equal('format', ROW_FORMAT);

/** Refuses stale index reads and rival reapers. */
export const leaseIsAsObserved = (entry: LeaseEntry): readonly Clause[] => [
  statusIs(entry.status),
  attemptIs(entry.attempt),
  leaseEndsAt(entry.leaseUntil),
  formatIsKnown,
];

/** Progress forgives lapses without moving the lease, so a lagging index may show too many. */
export const lapsesAre = (lapses: number): Clause => equal('lapses', lapses);

export const checkpointIsNewer = (seq: number): Clause => below('checkpointSeq', seq);

export const actedIs = (acted: number): Clause => (acted === 0 ? absent('acted') : equal('acted', acted));
